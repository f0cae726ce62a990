# SPDX-License-Identifier: BSD-3-Clause
"""Sharded arrays on the four devices of a world of one, and their views."""
import gc
import os
import tempfile
import unittest
import weakref
import xml.dom.minidom

os.environ['JD_NUM_CPU_DEVICES'] = '4'

import jd  # noqa: E402
from needs import imported, need  # noqa: E402

np = imported('numpy')
ml_dtypes = imported('ml_dtypes')


@need('numpy')
class Arrays(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        jd.initialize()
        cls.mesh = jd.make_mesh((2, 2), ('a', 'b'))
        cls.line = jd.make_mesh((-1,), ('data',))

    @classmethod
    def tearDownClass(cls):
        cls.mesh.destroy()
        cls.line.destroy()
        jd.shutdown()

    def put(self, spec=jd.P('a', 'b'), shape=(6, 8)):
        x = np.arange(np.prod(shape, dtype=int)).reshape(shape)
        return x, jd.device_put(x, jd.NamedSharding(self.mesh, spec))

    def test_specs(self):
        for spec, text in [((), ()), ((None, 'a'), (None, 'a')),
                           (('a', None), ('a',)), (('a', 'b'), ('a', 'b')),
                           ((('b', 'a'),), (('b', 'a'),)),
                           ('-,b+a', (None, ('b', 'a')))]:
            sharding = jd.NamedSharding(self.mesh, spec)
            self.assertEqual(sharding.spec, jd.P(*text))
            self.assertEqual(sharding, jd.NamedSharding(self.mesh, spec))
        for spec, text in [(('c',), 'c'), (('a', 'a'), 'a'),
                           (('a,b',), 'a tuple of them'),
                           (('-',), 'is None')]:
            with self.assertRaisesRegex(jd.InvalidArgument, text):
                jd.NamedSharding(self.mesh, spec)
        with self.assertRaises(jd.InvalidArgument):
            jd.NamedSharding(self.line, jd.P('data'),
                             even=True).shard_shape((5,))

    def test_questions(self):
        sharding = jd.NamedSharding(self.mesh, jd.P('a'))
        self.assertTrue(sharding.is_fully_addressable)
        self.assertFalse(sharding.is_fully_replicated)
        self.assertTrue(jd.NamedSharding(self.mesh).is_fully_replicated)
        self.assertEqual(sharding.shard_shape((5, 2)), (3, 2))
        places = sharding.devices_indices_map((5, 2))
        self.assertEqual(list(places.values()),
                         [(slice(0, 3), slice(0, 2))] * 2 +
                         [(slice(3, 5), slice(0, 2))] * 2)
        self.assertEqual([sharding.replica_id(device, (5, 2))
                          for device in places], [0, 1, 0, 1])
        self.assertTrue(sharding.is_equivalent_to(
            jd.NamedSharding(self.mesh, jd.P('a', None)), 2))
        other = sharding.make_mesh()
        self.assertEqual((other.shape, other.devices),
                         (self.mesh.shape, self.mesh.devices))
        other.destroy()
        self.assertIn('2 blocks of up to [3,2]', sharding.visualize((5, 2)))

    def test_blocks_are_numpy_s(self):
        x, array = self.put()
        self.assertEqual((array.shape, array.dtype), (x.shape, x.dtype))
        for block in array.addressable_shards:
            np.testing.assert_array_equal(block.data, x[block.index])
            np.testing.assert_array_equal(np.asarray(block), x[block.index])
            np.testing.assert_array_equal(np.from_dlpack(block),
                                          x[block.index])
        np.testing.assert_array_equal(np.asarray(array), x)

    def test_views_are_no_copies(self):
        x, array = self.put()
        block = array.addressable_shards[0]
        block.data[0, 0] = 77
        np.asarray(block)[0, 1] = 78
        self.assertEqual(array.to_host()[0, :2].tolist(), [77, 78])

    def test_a_view_keeps_its_array(self):
        for look in (lambda block: block.data, np.asarray, np.from_dlpack,
                     lambda block: block.data[1:].T):
            x, array = self.put()
            gone = weakref.ref(array)
            view = look(array.addressable_shards[3])
            expected = view.copy()
            self.assertEqual(array.count_views(), 1)
            del array
            gc.collect()
            self.assertIsNotNone(gone())
            trash = [self.put()[1] for _ in range(8)]  # would take its memory
            np.testing.assert_array_equal(view, expected)
            del view, trash
            gc.collect()
            self.assertIsNone(gone())

    def test_donation(self):
        x, array = self.put()
        block = array.addressable_shards[1]
        view = block.data
        columns = jd.NamedSharding(self.mesh, jd.P(None, ('b', 'a')))
        with self.assertRaisesRegex(jd.FailedPrecondition, '1 views'):
            jd.reshard(array, columns, donate=True)
        np.testing.assert_array_equal(view, x[block.index])
        del view
        moved = jd.device_put(array, columns, donate=True)
        trash = [self.put(shape=(4, 4))[1] for _ in range(8)]
        np.testing.assert_array_equal(moved.to_host(), x)
        self.assertEqual((array.shape, array.addressable_shards), ((6, 8), []))
        del trash
        with self.assertRaisesRegex(jd.FailedPrecondition, 'was donated'):
            block.data  # pylint: disable=pointless-statement

    def test_making(self):
        x = np.arange(10.)
        sharding = jd.NamedSharding(self.line, jd.P('data'))
        seen = []

        def fill(index):
            seen.append(index)
            return x[index]
        for array in [
                jd.make_array_from_callback((10,), sharding, fill, x.dtype),
                jd.make_array_from_process_local_data(sharding, x),
                jd.make_array_from_process_local_data(sharding, x, (10,)),
                jd.host_local_array_to_global_array(x, self.line,
                                                    jd.P('data'))]:
            np.testing.assert_array_equal(array.to_host(), x)
            np.testing.assert_array_equal(
                jd.global_array_to_host_local_array(array, self.line,
                                                    jd.P('data')), x)
        self.assertEqual(seen, [(slice(0, 3),), (slice(3, 6),),
                                (slice(6, 9),), (slice(9, 10),)])
        zeros = jd.zeros((3, 0), 'bool', jd.NamedSharding(self.line))
        self.assertEqual(zeros.to_host().shape, (3, 0))
        scalar = jd.device_put(5, jd.NamedSharding(self.line))
        self.assertEqual(scalar.to_host(), 5)

    def test_what_a_callback_raises(self):
        sharding = jd.NamedSharding(self.line, jd.P('data'))
        for error in (ZeroDivisionError('no'), SystemExit(3)):
            def fill(index):
                raise error
            with self.assertRaises(type(error)):
                jd.make_array_from_callback((8,), sharding, fill, 'int32')

    def test_from_device_memory(self):
        sharding = jd.NamedSharding(self.line, jd.P('data'))
        blocks = [jd.device_alloc(device, (2,), 'int32')
                  for device in jd.local_devices()]
        for i, block in enumerate(blocks):
            block.array[...] = i
        array = jd.make_array_from_single_device_arrays((8,), sharding, blocks)
        view = blocks[3].array  # the array's now
        self.assertFalse(blocks[3]._free.alive)
        gone = weakref.ref(array)
        self.assertEqual(array.to_host().tolist(), [0, 0, 1, 1, 2, 2, 3, 3])
        del array, blocks, block
        gc.collect()
        self.assertIsNotNone(gone())
        self.assertEqual(view.tolist(), [3, 3])
        del view
        gc.collect()
        self.assertIsNone(gone())

    def test_replicas(self):
        _, array = self.put(jd.P('a'))
        array.assert_replicas_equal()
        array.addressable_shards[1].data[0, 0] = -1
        with self.assertRaisesRegex(jd.FailedPrecondition, 'the table'):
            array.assert_replicas_equal('the table')

    @need('ml_dtypes')
    def test_short_types(self):
        for name in ('bfloat16', 'float8_e5m2', 'float8_e4m3fn', 'int4',
                     'uint4', 'float8_e4m3b11fnuz', 'float8_e5m2fnuz',
                     'float8_e4m3fnuz', 'float8_e4m3', 'float8_e3m4',
                     'float8_e8m0fnu'):
            if not hasattr(ml_dtypes, name):
                continue  # an older ml_dtypes
            x = np.arange(8).astype(getattr(ml_dtypes, name))
            array = jd.device_put(x, jd.NamedSharding(self.line, jd.P('data')))
            self.assertEqual(array.dtype, x.dtype)
            # NumPy takes a NaN of these for another one.
            self.assertEqual(array.to_host().tobytes(), x.tobytes())

    def test_checkpoint(self):
        x, array = self.put()
        scalar = jd.device_put(np.float32(2), jd.NamedSharding(self.mesh))
        with tempfile.TemporaryDirectory() as folder:
            at = os.path.join(folder, 'saved')
            with self.assertRaises(jd.NotFound):
                jd.checkpoint.restore(at, {'x': array.sharding})
            jd.checkpoint.save(at, {'x': array, 'step': scalar})
            other = jd.NamedSharding(self.line, jd.P(None, 'data'))
            back = jd.checkpoint.restore(at, {'x': other})
            np.testing.assert_array_equal(back['x'].to_host(), x)
            with jd.checkpoint.Checkpoint(at) as found:
                self.assertEqual(found.names, ['x', 'step'])
                self.assertEqual(found.describe('x').shape, (6, 8))
                self.assertEqual(found.describe('step').dtype, 'float32')
                with self.assertRaisesRegex(jd.NotFound, 'step'):
                    found.describe('y')
                found.verify()
                found.verify('x')

    def test_what_one_process_has(self):
        x = np.arange(48, dtype='int16').reshape(6, 8)
        rows = jd.NamedSharding(self.mesh, jd.P('a', 'b'))
        array = jd.make_array_from_one(rows, x)
        self.assertEqual(array.dtype, x.dtype)
        np.testing.assert_array_equal(array.to_host(), x)
        with self.assertRaisesRegex(jd.InvalidArgument, 'data is NULL on'):
            jd.make_array_from_one(rows, shape=(6, 8), dtype='int16')
        with self.assertRaisesRegex(jd.InvalidArgument, 'source is 1; the'):
            jd.make_array_from_one(rows, x, 1)
        with self.assertRaisesRegex(jd.InvalidArgument, 'shape and dtype'):
            jd.make_array_from_one(rows, shape=(6, 8))
        with self.assertRaisesRegex(jd.InvalidArgument, 'not contiguous'):
            jd.make_array_from_one(rows, x[:, ::2])

    def test_multihost(self):
        tree = {'b': (np.arange(3), 2.5), 'a': [None, np.float32(1)]}
        got = jd.broadcast_one_to_all(tree)
        self.assertEqual(got['b'][0].tolist(), [0, 1, 2])
        self.assertIsNone(got['a'][0])
        self.assertEqual(jd.process_allgather(tree)['b'][0].shape, (1, 3))
        self.assertEqual(jd.process_allgather(2.5, tiled=True).shape, ())
        jd.assert_equal(tree, 'the tree')
        jd.assert_equal(tree, 'the tree', rtol=1e-5)
        x, array = self.put()
        np.testing.assert_array_equal(
            jd.process_allgather({'t': array})['t'], x)
        np.testing.assert_array_equal(jd.gather_array(array, root=0), x)

    def test_pictures(self):
        _, array = self.put()
        self.assertIn('mesh "a" 2 x "b" 2', self.mesh.visualize())
        self.assertIn('[6,8] as "a,b"', array.visualize())

    def test_pictures_in_svg(self):
        _, array = self.put()
        for picture, words in (
                (self.mesh.visualize_svg(), 'mesh "a" 2 x "b" 2'),
                (array.visualize_svg(), '[6,8] as "a,b"'),
                (array.sharding.visualize_svg((5, 2)), '[5,2] as "a,b"')):
            root = xml.dom.minidom.parseString(picture)
            texts = [text.firstChild.data
                     for text in root.getElementsByTagName('text')]
            self.assertIn(words, texts[0])
            self.assertIn('0:0', texts)


@need('numpy')
class After(unittest.TestCase):
    """What is left of a job that is over."""

    def test_views_after_shutdown(self):
        jd.initialize()
        mesh = jd.make_mesh((-1,), ('data',))
        array = jd.device_put(np.arange(8), jd.NamedSharding(mesh, 'data'))
        view = array.addressable_shards[2].data
        jd.shutdown()
        del array
        gc.collect()
        self.assertEqual(view.tolist(), [4, 5])
        with self.assertRaises(jd.FailedPrecondition):
            jd.zeros((8,), 'int8', jd.NamedSharding(mesh, 'data'))
        mesh.destroy()
        del view
        gc.collect()


if __name__ == '__main__':
    unittest.main()
