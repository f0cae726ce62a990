# SPDX-License-Identifier: BSD-3-Clause
"""jd against JAX: meshes, specs, types and collectives drawn by a seed.

TEST_SEED repeats a run, and TEST_CASES says how many cases there are. All is
in one process, with eight devices of each.
"""
import itertools
import os
import random
import unittest

DEVICES = 8
os.environ['JD_NUM_CPU_DEVICES'] = str(DEVICES)
os.environ['JAX_PLATFORMS'] = 'cpu'
os.environ['XLA_FLAGS'] = ' '.join((
    os.environ.get('XLA_FLAGS', ''),
    f'--xla_force_host_platform_device_count={DEVICES}'))

import jd  # noqa: E402
from needs import imported, need  # noqa: E402

np = imported('numpy')
jax = np and imported('jax')
SEED = int(os.environ.get('TEST_SEED') or random.randrange(10 ** 6))
CASES = int(os.environ.get('TEST_CASES') or 40)
SHAPES = [(8,), (2, 4), (4, 2), (2, 2, 2), (1, 8), (4, 1, 2)]
KINDS = ['float32', 'int32', 'uint8', 'bfloat16', 'complex64', 'float16']
ORDERED = KINDS[:-2] + ['float16']


class Case:
    """A mesh, a spec, an array that it divides, and axes."""

    def __init__(self, draw):
        self.draw = draw
        self.shape = draw.choice(SHAPES)
        self.names = tuple('abc'[:len(self.shape)])
        self.sizes = dict(zip(self.names, self.shape))
        self.spec = self.draw_spec()
        # Each block divides by eight in each dimension.
        self.global_shape = tuple(
            8 * draw.choice([1, 2]) * self.ways(entry) for entry in self.spec)
        self.axes = tuple(draw.sample(self.names,
                                      draw.randint(1, len(self.names))))
        self.n = self.ways(self.axes)

    def draw_spec(self):
        """Two dimensions, and each axis in one of them, or in none."""
        names, entries = list(self.names), [[], []]
        self.draw.shuffle(names)
        for name in names:
            where = self.draw.randint(0, 2)
            if where < 2:
                entries[where].append(name)
        return tuple(None if not entry else
                     entry[0] if len(entry) == 1 else tuple(entry)
                     for entry in entries)

    def ways(self, entry):
        result = 1
        for name in entry or ():
            result *= self.sizes[name]
        return result

    def values(self, kind):
        """Small whole numbers: sums of them have no rounding."""
        draw = np.random.default_rng(self.draw.randrange(1 << 30))
        return draw.integers(0, 5, self.global_shape).astype(
            jax.numpy.dtype(kind))

    def __str__(self):
        return (f'mesh {self.sizes}, spec {self.spec}, array '
                f'{self.global_shape}, axes {self.axes}')


NAMES = ['psum', 'pmean', 'pmax', 'pmin', 'psum_scatter', 'all_gather',
         'all_to_all', 'ppermute', 'pshuffle', 'pbroadcast', 'axis_index']


def draw_operation(case):
    """A name, a type, what jd calls, and what JAX does."""
    draw, name = case.draw, case.draw.choice(NAMES)
    if name in ('ppermute', 'pshuffle'):
        # JAX (0.10) counts these two's members in the mesh's order, whatever
        # the axes' (it sorts them), and all others' in that of the axes.
        case.axes = tuple(sorted(case.axes))
    axes, n = case.axes, case.n
    lax, kind = jax.lax, draw.choice(KINDS)
    k, tiled = draw.randint(0, 1), draw.random() < 0.7
    concat = draw.randint(0, 1)
    permutation = draw.sample(range(n), n)
    some = list(enumerate(permutation))[:draw.randint(0, n)]
    source = draw.randrange(n)

    def head(x):  # n elements in dimension k, as untiled calls want it
        return x if tiled else (x[:n] if k == 0 else x[:, :n])

    def with_jd(function, *args, **options):
        return lambda x: function(np.ascontiguousarray(x), axes, *args,
                                  **options)

    def with_jax(function, *args, **options):
        return lambda x: function(x, axes, *args, **options)

    scatter = {'scatter_dimension': k, 'tiled': tiled}
    gather = {'axis': k, 'tiled': tiled}
    table = {
        'psum': (KINDS, with_jd(jd.psum), with_jax(lax.psum)),
        'pmean': (['float32'], with_jd(jd.pmean), with_jax(lax.pmean)),
        'pmax': (ORDERED, with_jd(jd.pmax), with_jax(lax.pmax)),
        'pmin': (ORDERED, with_jd(jd.pmin), with_jax(lax.pmin)),
        'psum_scatter': (KINDS,
                         lambda x: with_jd(jd.psum_scatter,
                                           **scatter)(head(x)),
                         lambda x: with_jax(lax.psum_scatter,
                                            **scatter)(head(x))),
        'all_gather': (KINDS, with_jd(jd.all_gather, **gather),
                       with_jax(lax.all_gather, **gather)),
        'all_to_all': (KINDS,
                       lambda x: with_jd(jd.all_to_all, k, concat,
                                         tiled=tiled)(head(x)),
                       lambda x: with_jax(lax.all_to_all, k, concat,
                                          tiled=tiled)(head(x))),
        'ppermute': (KINDS, with_jd(jd.ppermute, some),
                     with_jax(lax.ppermute, some)),
        'pshuffle': (KINDS, with_jd(jd.pshuffle, permutation),
                     with_jax(lax.pshuffle, permutation)),
        'pbroadcast': (KINDS, with_jd(jd.pbroadcast, source),
                       with_jax(lambda x, axes: lax.all_gather(
                           x, axes)[source])),
        'axis_index': (['int32'],
                       lambda x: np.array(jd.axis_index(axes), 'int32'),
                       lambda x: lax.axis_index(axes)),
    }
    kinds, ours, theirs = table[name]
    kind = kind if kind in kinds else kinds[0]
    said = f'{name} of {kind}, dimension {k}, to {concat}, tiled {tiled}, ' \
        f'{some}, {permutation}, {source}'
    return said, kind, ours, theirs


@need('numpy')
@need('jax')
class Same(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        jd.initialize()
        print(f'# TEST_SEED={SEED} TEST_CASES={CASES} draws these cases again')

    @classmethod
    def tearDownClass(cls):
        jd.shutdown()

    def draw(self, salt):
        for number in range(CASES):
            yield Case(random.Random(f'{SEED} {salt} {number}')), number

    def jax_mesh(self, case):
        devices = np.array(jax.devices()).reshape(case.shape)
        return jax.sharding.Mesh(devices, case.names)

    def test_collectives(self):
        seen = set()
        for case, number in self.draw('collectives'):
            said, kind, ours, theirs = draw_operation(case)
            seen.add(said.split()[0])
            with self.subTest(f'{number}: {said}; {case}'):
                x = case.values(kind)
                self.assert_same(self.by_jd(case, x, ours),
                                 self.by_jax(case, x, theirs))
        print('# seen: ' + ' '.join(sorted(seen)))

    def by_jd(self, case, x, operation):
        with jd.make_mesh(case.shape, case.names) as mesh:
            array = jd.device_put(x, jd.NamedSharding(mesh, case.spec))
            blocks = {block.device: block.data
                      for block in array.addressable_shards}
            return jd.shard_map(mesh,
                                lambda me: operation(blocks[me.device]))

    def by_jax(self, case, x, operation):
        """Each device's result along a first dimension of all devices."""
        spec = jax.sharding.PartitionSpec
        return list(np.asarray(jax.jit(jax.shard_map(
            lambda block: operation(block)[None], mesh=self.jax_mesh(case),
            in_specs=spec(*case.spec), out_specs=spec(case.names),
            check_vma=False))(x)))

    def assert_same(self, ours, theirs):
        self.assertEqual(len(ours), DEVICES)
        for mine, other in zip(ours, theirs):
            self.assertEqual((mine.dtype, mine.shape),
                             (other.dtype, other.shape))
            np.testing.assert_array_equal(mine.view('uint8')
                                          if mine.ndim else mine,
                                          other.view('uint8')
                                          if mine.ndim else other)

    def test_shardings(self):
        for case, number in self.draw('shardings'):
            other = case.draw_spec()
            x = np.arange(np.prod(case.global_shape)).reshape(
                case.global_shape)
            with self.subTest(f'{number}: to {other}; {case}'), \
                    jd.make_mesh(case.shape, case.names) as mesh:
                ours = jd.device_put(x, jd.NamedSharding(mesh, case.spec))
                # A dimension that JAX's arrays cannot be cut in so evenly.
                if any(length % case.ways(entry) for length, entry
                       in zip(case.global_shape, other)):
                    continue
                ours = jd.reshard(ours, jd.NamedSharding(mesh, other))
                theirs = jax.device_put(
                    x.astype('int32'), jax.sharding.NamedSharding(
                        self.jax_mesh(case),
                        jax.sharding.PartitionSpec(*other)))
                shards = {shard.device.id: shard
                          for shard in theirs.addressable_shards}
                order = [device.id for device
                         in self.jax_mesh(case).devices.flat]
                for mine, device in itertools.zip_longest(
                        ours.addressable_shards, order):
                    shard = shards[device]
                    self.assertEqual(
                        [(cut.start, cut.stop) for cut in mine.index],
                        [cut.indices(length)[:2] for cut, length
                         in zip(shard.index, case.global_shape)])
                    self.assertEqual(mine.replica_id, shard.replica_id)
                    np.testing.assert_array_equal(mine.data, shard.data)
                self.assertEqual(
                    ours.sharding.shard_shape(case.global_shape),
                    theirs.sharding.shard_shape(case.global_shape))


if __name__ == '__main__':
    unittest.main()
