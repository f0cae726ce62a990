# SPDX-License-Identifier: BSD-3-Clause
"""A world of one process with four devices: what NumPy says is what comes."""
import gc
import inspect
import itertools
import os
import sys
import threading
import unittest
import weakref

os.environ['JD_NUM_CPU_DEVICES'] = '4'
# Not JD_DETERMINISTIC: sums are compared with a tolerance.

import jd  # noqa: E402
from jd._ffi import jd_options  # noqa: E402
from jd.process import make_options  # noqa: E402
from needs import imported, need  # noqa: E402

np = imported('numpy')
ml_dtypes = imported('ml_dtypes')


def setUpModule():
    jd.initialize()


def tearDownModule():
    jd.shutdown()


def run_bodies(shape, names, body):
    """body(me) on a mesh; what it returns, by device."""
    with jd.make_mesh(shape, names) as mesh:
        return jd.shard_map(mesh, body)


def values(shape, seed, dtype='float64'):
    return np.random.default_rng(seed).integers(0, 9, shape).astype(dtype)


@need('numpy')
class Reductions(unittest.TestCase):
    def test_each(self):
        x = [values((2, 3), seed) + 1 for seed in range(4)]
        expected = {jd.psum: np.sum, jd.pmean: np.mean, jd.pmax: np.max,
                    jd.pmin: np.min, jd.pprod: np.prod}
        for function, same in expected.items():
            got = run_bodies((4,), ('data',), lambda me: function(
                x[jd.axis_index()], 'data'))
            for result in got:
                np.testing.assert_allclose(result, same(x, axis=0))

    def test_types(self):
        names = ['int8', 'int16', 'int32', 'int64', 'uint8', 'uint16',
                 'uint32', 'uint64', 'float16', 'float32', 'float64',
                 'complex64', 'complex128']
        kinds = [np.dtype(name) for name in names]
        if ml_dtypes:
            kinds += [np.dtype(getattr(ml_dtypes, name)) for name in
                      ('bfloat16', 'float8_e5m2', 'float8_e4m3fn')]
        for kind in kinds:
            got = run_bodies((4,), ('data',), lambda me: jd.psum(
                np.full(5, jd.axis_index('data'), kind), 'data'))
            with self.subTest(kind.name):
                self.assertEqual(got[0].dtype, kind)
                np.testing.assert_array_equal(got[3].astype('complex128'), 6)

    def test_bits(self):
        expected = {jd.pand: np.bitwise_and, jd.por: np.bitwise_or,
                    jd.pxor: np.bitwise_xor}
        for dtype in 'bool', 'int8', 'int16', 'uint32', 'int64':
            x = [np.random.default_rng(seed).integers(0, 99, 7).astype(dtype)
                 for seed in range(4)]
            for function, same in expected.items():
                got = run_bodies((4,), ('data',), lambda me: function(
                    x[jd.axis_index()], 'data'))
                for result in got:
                    np.testing.assert_array_equal(result, same.reduce(x))

    def test_scans(self):
        x = [values((3,), seed, 'int32') for seed in range(4)]
        got = run_bodies((4,), ('data',), lambda me: (
            jd.scan(x[jd.axis_index()], 'data'),
            jd.scan(x[jd.axis_index()], 'data', 'max', exclusive=True)))
        for i, (upto, before) in enumerate(got):
            np.testing.assert_array_equal(upto, np.sum(x[:i + 1], axis=0))
            np.testing.assert_array_equal(
                before, np.max(x[:i], axis=0) if i else [-2**31] * 3)

        def refuse(me):
            with self.assertRaisesRegex(jd.InvalidArgument, "is 'mean'"):
                jd.scan(x[0], op='mean')
        run_bodies((4,), ('data',), refuse)

    def test_locations(self):
        x = np.array([[0, 4, 4, -1], [3, 4, np.nan, -1], [9, 1, np.nan, -2],
                      [1, 2, 0, -1]])
        got = run_bodies((4,), ('data',), lambda me: (
            jd.pmaxloc(x[jd.axis_index()], 'data'),
            jd.pminloc(x[jd.axis_index()], 'data',
                       index=10 - np.arange(4) - jd.axis_index())))
        for (most, of), (least, at) in got:
            np.testing.assert_array_equal(most, [9, 4, np.nan, -1])
            np.testing.assert_array_equal(of, [2, 0, 1, 0])
            np.testing.assert_array_equal(least, [0, 1, np.nan, -2])
            np.testing.assert_array_equal(at, [10, 7, 6, 5])

        def refuse(me):
            with self.assertRaisesRegex(jd.InvalidArgument, 'of float64'):
                jd.pmaxloc(x[0], 'data', index=x[0])
        run_bodies((4,), ('data',), refuse)

    @need('ml_dtypes')
    def test_ml_dtypes_are_there(self):
        got = run_bodies((4,), ('data',), lambda me: jd.pmax(
            np.array([jd.axis_index('data')], ml_dtypes.bfloat16), 'data'))
        self.assertEqual(got[0], [3])

    def test_truth(self):
        got = run_bodies((4,), ('data',), lambda me: (
            jd.pmax(np.array([jd.axis_index('data') == 2, False]), 'data'),
            jd.pmin(np.array([jd.axis_index('data') < 9, False]), 'data')))
        for any_of, all_of in got:
            self.assertEqual(any_of.tolist(), [True, False])
            self.assertEqual(all_of.tolist(), [True, False])

    def test_in_place_and_numbers(self):
        def body(me):
            x = np.arange(3.)
            self.assertIs(jd.psum(x, 'data', out=x), x)
            return x, jd.psum(1, 'data')
        for x, count in run_bodies((4,), ('data',), body):
            np.testing.assert_array_equal(x, 4 * np.arange(3))
            self.assertEqual(count, 4)

    def test_axes_and_groups(self):
        def body(me):
            i = jd.axis_index(('a', 'b'))
            self.assertEqual(i, 2 * me.coordinates[0] + me.coordinates[1])
            self.assertEqual(jd.axis_size('a'), 2)
            return [float(jd.psum(float(i), axes)) for axes in
                    ('a', 'b', ('a', 'b'), None)] + [
                float(jd.psum(float(i), None,
                              axis_index_groups=[[0, 3], [2, 1]]))]
        got = run_bodies((2, 2), ('a', 'b'), body)
        self.assertEqual(got, [[2, 1, 6, 6, 3], [4, 1, 6, 6, 3],
                               [2, 5, 6, 6, 3], [4, 5, 6, 6, 3]])

    def test_scatter(self):
        x = [values((4, 8, 3), seed) for seed in range(4)]
        total = np.sum(x, axis=0)
        for k, tiled in itertools.product((0, 1, -2), (True, False)):
            part = [values for values in x] if tiled or k == 0 else \
                [one[:, :4] for one in x]
            whole = total if tiled or k == 0 else total[:, :4]
            got = run_bodies((4,), ('data',), lambda me: jd.psum_scatter(
                np.ascontiguousarray(part[jd.axis_index('data')]), 'data',
                scatter_dimension=k, tiled=tiled))
            for i, result in enumerate(got):
                expected = (np.split(whole, 4, k)[i] if tiled
                            else np.take(whole, i, k))
                np.testing.assert_allclose(result, expected)


@need('numpy')
class Moves(unittest.TestCase):
    def test_gather(self):
        x = [values((2, 3), seed) for seed in range(4)]
        for axis, tiled in [(0, False), (0, True), (1, True), (1, False),
                            (2, False), (-1, True), (-1, False)]:
            got = run_bodies((4,), ('data',), lambda me: jd.all_gather(
                x[jd.axis_index('data')], 'data', axis=axis, tiled=tiled))
            expected = (np.concatenate if tiled else np.stack)(x, axis)
            for result in got:
                np.testing.assert_array_equal(result, expected)

    def test_all_to_all(self):
        for split, concat in itertools.product(range(3), range(3)):
            x = [values((4, 8, 4), seed) for seed in range(4)]
            got = run_bodies((4,), ('data',), lambda me: jd.all_to_all(
                x[jd.axis_index('data')], 'data', split, concat, tiled=True))
            for i, result in enumerate(got):
                np.testing.assert_array_equal(result, np.concatenate(
                    [np.split(one, 4, split)[i] for one in x], concat))

    def test_all_to_all_untiled(self):
        for split, concat in itertools.product(range(3), range(3)):
            shape = [2, 3, 5]
            shape[split] = 4
            x = [values(shape, seed) for seed in range(4)]
            got = run_bodies((4,), ('data',), lambda me: jd.all_to_all(
                x[jd.axis_index('data')], 'data', split, concat))
            for i, result in enumerate(got):
                np.testing.assert_array_equal(result, np.stack(
                    [np.take(one, i, split) for one in x], concat))

    def test_permutes(self):
        def body(me):
            i = jd.axis_index('data')
            x = np.full(2, i + 1)
            shift = [(k, k + 1) for k in range(3)]
            kept = np.full(2, 77)
            self.assertIs(jd.ppermute_keep(x, 'data', shift, kept), kept)
            return (jd.ppermute(x, 'data', shift)[0], kept[0],
                    jd.pshuffle(x, 'data', [3, 2, 1, 0])[0],
                    jd.pbroadcast(x, 'data', 2)[0])
        self.assertEqual(run_bodies((4,), ('data',), body),
                         [(0, 77, 4, 3), (1, 1, 3, 3), (2, 2, 2, 3),
                          (3, 3, 1, 3)])

    def test_shifts(self):
        def body(me):
            i = jd.axis_index('data')
            x, kept = np.full(2, i + 1), np.full(2, 77)
            self.assertIs(jd.shift(x, 'data', 1, edge='keep', out=kept), kept)
            with self.assertRaisesRegex(jd.InvalidArgument, "edge is 'wall'"):
                jd.shift(x, 'data', 1, edge='wall')
            with self.assertRaisesRegex(jd.InvalidArgument, 'out is what is'):
                jd.shift(x, 'data', 1, edge='keep')
            return (jd.shift(x, 'data', -5)[0], kept[0],
                    jd.shift(x, 'data', 2, edge='zero')[0])
        self.assertEqual(run_bodies((4,), ('data',), body),
                         [(2, 77, 0), (3, 1, 0), (4, 2, 1), (1, 3, 2)])

    def test_sendrecv(self):
        def body(me):
            i = jd.axis_index('data')
            out = np.full(1, -1)
            with self.assertRaisesRegex(jd.InvalidArgument, 'and out float'):
                jd.sendrecv(np.full(1, i), 'data', None, np.zeros(1), None)
            got = jd.sendrecv(np.full(1, i), 'data', i + 1 if i < 3 else None,
                              out, i - 1 if i else None)
            self.assertIs(got, out)
            return got[0]
        self.assertEqual(run_bodies((4,), ('data',), body), [-1, 0, 1, 2])

    def test_halos(self):
        def body(me):
            block = np.full((4, 3), jd.axis_index('data'))
            block[0] = block[3] = -1
            got = jd.halo_exchange(block, [1, (0, 1)], ['data', None],
                                   periodic=[True, False])
            self.assertIs(got, block)
            with self.assertRaisesRegex(jd.InvalidArgument, '1 widths'):
                jd.halo_exchange(block, [1], ['data', None])
            return block[0].tolist(), block[3].tolist()
        self.assertEqual(run_bodies((4,), ('data',), body),
                         [([(i - 1) % 4] * 2 + [-1], [(i + 1) % 4] * 2 + [-1])
                          for i in range(4)])

    def test_recv_any_size(self):
        def body(me):
            i, room = jd.axis_index('data'), np.full((2, 4), -1)
            jd.barrier('data')
            if i == 0:
                jd.send(np.arange(3), 'data', 1)
            if i == 1:
                got = jd.recv_any_size(room, 'data', 0)
                self.assertEqual((got.count, got.data.tolist()),
                                 (3, [0, 1, 2]))
                self.assertEqual(room[1, 0], -1)
            with jd.group():
                jd.send(np.full(i + 1, i), 'data', (i + 1) % 4)
                got = jd.recv_any_size(room, 'data', (i - 1) % 4)
                with self.assertRaisesRegex(jd.FailedPrecondition, 'its end'):
                    got.count
            return got.data.tolist()
        self.assertEqual(run_bodies((4,), ('data',), body),
                         [[(i - 1) % 4] * ((i - 1) % 4 + 1)
                          for i in range(4)])

    def test_started(self):
        def body(me):
            i, left = jd.axis_index('data'), np.full(1, -1)
            block = np.full(4, i)
            x = np.arange(8) + i
            with jd.group_start() as moves:
                jd.send(np.full(1, i), 'data', (i + 1) % 4)
                jd.recv(left, 'data', (i - 1) % 4)
            halo = jd.halo_start(block, [1], ['data'], periodic=[True])
            requests = [jd.psum_start(x), jd.pmean_start(x * 1.), moves,
                        jd.pmax_start(x), jd.pmin_start(x), halo,
                        jd.pprod_start(np.full(1, 2)), jd.barrier_start(),
                        jd.psum_scatter_start(x), jd.all_gather_start(i),
                        jd.all_to_all_start(x),
                        jd.pbroadcast_start(x, 'data', 3),
                        jd.pand_start(x), jd.por_start(x), jd.pxor_start(x)]
            while not requests[0].test():
                pass
            self.assertTrue(requests[0].test())
            got = [request.wait() for request in reversed(requests)][::-1]
            self.assertIs(got[5], block)
            self.assertIs(requests[5].wait(), block)
            with self.assertRaisesRegex(jd.InvalidArgument, 'first one'):
                jd.psum_scatter_start(np.arange(5))
            with self.assertRaisesRegex(jd.InvalidArgument, 'no dimension'):
                jd.all_to_all_start(1)
            with self.assertRaisesRegex(jd.InvalidArgument, 'nosuch'):
                jd.psum_start(x, 'nosuch').wait()
            lost = jd.psum_start(x, 'nosuch')
            with self.assertRaisesRegex(jd.InvalidArgument, 'nosuch'):
                while not lost.test():
                    pass
            self.assertTrue(lost.test())
            jd.psum_start(x)  # nobody waits
            return left[0], [None if a is None else a.tolist() for a in got]
        for i, (left, got) in enumerate(run_bodies((4,), ('data',), body)):
            self.assertEqual(left, (i - 1) % 4)
            self.assertEqual(got[0], [4 * k + 6 for k in range(8)])
            self.assertEqual(got[1], [k + 1.5 for k in range(8)])
            self.assertEqual(got[3][0], 3)
            self.assertEqual(got[4][0], 0)
            self.assertEqual(got[5], [(i - 1) % 4, i, i, (i + 1) % 4])
            self.assertEqual(got[6], [16])
            self.assertEqual(got[8], [8 * i + 6, 8 * i + 10])
            self.assertEqual(got[9], [0, 1, 2, 3])
            self.assertEqual(got[10], [2 * i + m + k
                                       for m in range(4) for k in range(2)])
            self.assertEqual(got[11], list(range(3, 11)))
            for k in range(8):
                m = [k, k + 1, k + 2, k + 3]
                self.assertEqual([got[12][k], got[13][k], got[14][k]],
                                 [m[0] & m[1] & m[2] & m[3],
                                  m[0] | m[1] | m[2] | m[3],
                                  m[0] ^ m[1] ^ m[2] ^ m[3]])

    def test_ragged(self):
        def body(me):
            i = jd.axis_index('data')
            x = np.arange(4.) + 10 * i
            out = np.full(8, -1.)
            sizes = [1] * 4
            got = jd.ragged_all_to_all(x, out, range(4), sizes, [i] * 4,
                                       sizes, axis_name='data')
            self.assertIs(got, out)
            return out.tolist()
        got = run_bodies((4,), ('data',), body)
        self.assertEqual(got[1], [1, 11, 21, 31, -1, -1, -1, -1])

    def test_preduce(self):
        def body(me):
            i = jd.axis_index('data')
            x = np.array([i, 10. * i])
            with self.assertRaises(ZeroDivisionError):
                jd.preduce(lambda a, b: a / b + 1 // 0, x, 'data')
            return jd.preduce(lambda a, b: 2 * a + b, x, 'data').tolist()
        got = run_bodies((4,), ('data',), body)
        self.assertEqual(got, [[11., 110.]] * 4)

    def test_ragged_gather(self):
        def body(me):
            i = jd.axis_index('data')
            x = np.full((i, 2), float(i))
            got = jd.ragged_all_gather(x, range(4), 'data')
            with self.assertRaisesRegex(jd.InvalidArgument, 'counts has 3'):
                jd.ragged_all_gather(x, [1, 2, 3], 'data')
            return got.tolist()
        got = run_bodies((4,), ('data',), body)
        self.assertEqual(got[1], [[k, k] for k in (1, 2, 2, 3, 3, 3)])

    def test_sends(self):
        def body(me):
            i, left = jd.axis_index('x'), np.zeros(2)
            with jd.group():
                # A temporary has to last until the group's end.
                jd.send(np.full(2, i + 1.), 'x', (i + 1) % 4, tag=5)
                jd.recv(left, 'x', (i - 1) % 4, tag=5)
            gc.collect()
            if i == 0:
                jd.send(left, 'x', 1)
            elif i == 1:
                jd.recv(left, 'x', 0)
            jd.barrier('x')
            jd.shard_synchronize()
            return left[0]
        self.assertEqual(run_bodies((4,), ('x',), body), [4, 4, 2, 3])


class Refusals(unittest.TestCase):
    """Each is a class of its own, with a sentence."""

    @need('numpy')
    def test_buffers(self):
        mesh = jd.make_mesh((1,), ('one',), devices=jd.devices()[:1])
        x, me = np.zeros((4, 4)), mesh.shard
        read_only = np.zeros(3)
        read_only.flags.writeable = False
        for arguments, text in [
                ((x.T[1:],), 'not contiguous'),
                ((np.array(['a']),), 'jd has no type'),
                ((x.astype('>f8'),), "in the machine's byte order"),
                ((x, None, np.zeros(3)), 'out is float64[3], and the result'),
                ((x, None, [1]), 'of type list'),
                ((read_only, None, read_only), 'read-only'),
                ((x, 'two'), 'two')]:
            name, out = (*arguments[1:], None, None)[:2]
            with self.subTest(text), \
                    self.assertRaisesRegex(jd.InvalidArgument, '(?s)' +
                                           text.replace('[', r'\[')):
                jd.psum(arguments[0], name, shard=me, out=out)
        with self.assertRaises(jd.Unimplemented) as caught:
            jd.psum(np.array([True]), shard=me)
        self.assertIsInstance(caught.exception, NotImplementedError)
        mesh.destroy()
        with self.assertRaisesRegex(jd.FailedPrecondition, 'destroyed'):
            jd.psum(x, shard=me)

    def test_meshes(self):
        with self.assertRaisesRegex(jd.InvalidArgument, 'has to be a list'):
            jd.make_mesh((4,), 'data')
        with self.assertRaisesRegex(jd.InvalidArgument, '2 sizes and 1 name'):
            jd.make_mesh((2, 2), ('data',))
        with self.assertRaisesRegex(jd.InvalidArgument, '4 places'):
            jd.make_mesh((4,), ('x',), devices=jd.devices()[:1])
        with self.assertRaises(ValueError):
            jd.make_mesh((3,), ('data',))
        with self.assertRaisesRegex(jd.InvalidArgument, 'has a NUL'):
            jd.make_mesh((4,), ('da\0ta',))
        mesh = jd.make_mesh((-1,), ('all',))
        mesh.set_nccl(minCTAs=4, CTAPolicy=1)
        with self.assertRaisesRegex(jd.InvalidArgument, 'would be 4 and max'):
            mesh.set_nccl(maxCTAs=3)
        with self.assertRaisesRegex(jd.InvalidArgument, 'the name is "ctas"'):
            mesh.set_nccl(ctas=3)
        with self.assertRaisesRegex(jd.InvalidArgument, 'jd_shard_map'):
            jd.barrier(shard=jd.make_mesh((-1,), ('all',)).shard)
        with self.assertRaisesRegex(jd.InvalidArgument, 'no shard'):
            jd.axis_index('data')
        with self.assertRaises(jd.NotFound):
            jd.devices('abacus')

    def test_process(self):
        with self.assertRaisesRegex(jd.FailedPrecondition, 'jd_initialize'):
            jd.initialize()
        with self.assertRaisesRegex(jd.InvalidArgument, 'both or neither'):
            jd.initialize(process_id=0)
        with self.assertRaises(TypeError):
            jd.initialize(adress='x')
        self.assertTrue(jd.is_initialized())
        self.assertEqual((jd.process_index(), jd.process_count()), (0, 1))
        self.assertEqual((jd.device_count(), jd.local_device_count()), (4, 4))
        self.assertEqual(jd.mesh_shape(12, (0, 0)), (4, 3))
        self.assertLessEqual(jd.wtime(), jd.wtime())
        self.assertEqual(jd.version().split('.')[:2],
                         jd.__version__.split('.')[:2])

    def test_options(self):
        made = make_options({
            'coordinator_address': 'h:1', 'num_processes': 3,
            'process_id': None, 'num_slices': 2, 'slice_index': 1,
            'local_device_ids': [4, 2], 'collective_timeout': 1.5})
        self.assertEqual(
            (made.coordinator_address, made.num_processes, made.process_id,
             made.num_slices, made.slice_index, made.collective_timeout,
             made.shutdown_timeout, made.cluster_detection_method),
            (b'h:1', 3, -1, 2, 1, 1.5, 0, None))
        self.assertEqual(made.local_device_ids[:made.num_local_device_ids],
                         [4, 2])
        self.assertEqual(
            set(inspect.signature(jd.initialize).parameters),
            {name for name, _ in jd_options._fields_} -
            {'reserved_', 'num_local_device_ids'})

    def test_deadline(self):
        with self.assertRaises(TimeoutError) as caught:
            jd.kv_get('nobody', timeout=0.01)
        self.assertEqual(type(caught.exception), jd.DeadlineExceeded)
        self.assertIn('nobody', str(caught.exception))


class Bodies(unittest.TestCase):
    def tearDown(self):
        """A body that failed is the end of this job: the next test has
        another."""
        jd.shutdown()
        jd.initialize()

    def test_what_a_body_raises(self):
        class Own(Exception):
            pass

        def body(me):
            if me.coordinates[0] == 2:
                raise Own('of the third')
            jd.barrier()
        mesh = jd.make_mesh((-1,), ('data',))
        with self.assertRaisesRegex(Own, 'of the third') as caught:
            jd.shard_map(mesh, body)
        if hasattr(caught.exception, '__notes__'):
            self.assertRegex(caught.exception.__notes__[0],
                             'device.*Own: of the third')
        with self.assertRaises(jd.Aborted):
            jd.shard_map(mesh, lambda me: jd.barrier())
        mesh.destroy()

    def test_what_leaves_a_body(self):
        def body(me):
            sys.exit(5)
        with self.assertRaises(SystemExit):
            jd.shard_map(jd.make_mesh((-1,), ('data',)), body)


class Coordination(unittest.TestCase):
    def test_store(self):
        jd.kv_set('a/1', b'\0one')
        jd.kv_set_many({'a/2': 'two', 'a/3': b''})
        self.assertEqual(jd.kv_get('a/1'), b'\0one')
        self.assertEqual(jd.kv_try_get('a/3'), b'')
        self.assertEqual(jd.kv_get_many(['a/3', 'a/2']),
                         {'a/3': b'', 'a/2': b'two'})
        self.assertEqual(list(jd.kv_dir_get('a')), ['a/1', 'a/2', 'a/3'])
        self.assertEqual(jd.kv_dir_get('b'), {})
        with self.assertRaises(jd.AlreadyExists):
            jd.kv_set('a/1', 'x')
        jd.kv_set('a/1', 'x', allow_overwrite=True)
        self.assertEqual(jd.kv_delete('a'), 3)
        with self.assertRaises(LookupError):
            jd.kv_try_get('a/1')
        self.assertEqual([jd.kv_increment('n'), jd.kv_increment('n', 5)],
                         [1, 6])

    def test_waits_are_without_the_gil(self):
        """A thread of Python sets what the main one waits for."""
        waits = threading.Event()

        def set_it():
            waits.wait()
            jd.kv_set('from a thread', 'x')
        thread = threading.Thread(target=set_it)
        thread.start()
        waits.set()
        self.assertEqual(jd.kv_get('from a thread', timeout=20), b'x')
        thread.join()

    def test_others(self):
        jd.wait_at_barrier('here', 5, [0])
        self.assertEqual(jd.live_processes(5), [0])
        with self.assertRaises(jd.NotFound):
            jd.cancel_barrier('nowhere')
        jd.sync_global_devices('all')
        self.assertFalse(jd.reached_preemption_sync_point(0))
        with jd.trace('outer'), jd.trace('inner'):
            pass
        with self.assertRaises(jd.InvalidArgument):
            with jd.trace(''):
                pass


@need('numpy')
class Memory(unittest.TestCase):
    def test_device_memory(self):
        memory = jd.device_alloc(jd.local_devices()[0], (3, 4), 'float32')
        view = memory.array
        view[...] = 7
        gone = weakref.ref(memory)
        row = view[1]
        del memory, view
        gc.collect()
        self.assertIsNotNone(gone(), 'a view has to keep its memory')
        self.assertEqual(row.tolist(), [7] * 4)
        del row
        gc.collect()
        self.assertIsNone(gone())

    def test_copies(self):
        memory = jd.device_alloc(jd.local_devices()[1], (4,), 'int32')
        jd.device_copy(memory, np.arange(4, dtype='int32'))
        back = np.zeros(4, 'int32')
        jd.device_copy(back, memory)
        self.assertEqual(back.tolist(), [0, 1, 2, 3])
        with self.assertRaisesRegex(jd.InvalidArgument, '16 bytes'):
            jd.device_copy(memory, np.zeros(3))
        self.assertEqual(jd.convert(np.array([1.9, 300]), 'int8').tolist(),
                         [1, 127])


if __name__ == '__main__':
    unittest.main()
