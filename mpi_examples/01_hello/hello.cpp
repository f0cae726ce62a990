/* SPDX-License-Identifier: BSD-3-Clause */
/* hello.cpp - hello.c in C++: the smallest whole program of jd. */
#include <jd.hpp>

#include <iostream>

int main()
{
    return jd::run([] {
        jd::mesh mesh({ { "data", -1 } });
        jd::shard me = mesh.shard();

        double sum = jd::psum(me, "data", me.index("data") + 1.0);
        jd::sync_global_devices("summed");
        if (jd::process_index() == 0)
            std::cout << jd::device_count() << " devices in "
                      << jd::process_count() << " processes: " << sum << '\n';
    });
}
