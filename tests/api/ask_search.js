// SPDX-License-Identifier: BSD-3-Clause
// ask_search.js - what the HTML manual's own search shows first: its worker and
// its search.js, without a browser. usage: node ask_search.js SITE QUESTION
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');

const [site, question] = process.argv.slice(2);
const read = (...parts) => fs.readFileSync(path.join(site, ...parts), 'utf8');

// As a page that comes from a server has it.
function search_of_page()
{
    const page = {
        location : { protocol : 'https:' },
        document : { currentScript : { src : 'https://x/search.js' } }
    };
    page.window = page;
    vm.runInNewContext(read('search.js'), page);
    return page.__search;
}

// What the worker makes of a message: its answer comes by postMessage().
function start_worker()
{
    const folder = path.join('assets', 'javascripts', 'workers');
    const name = fs.readdirSync(path.join(site, folder))
                     .find((file) => /^search\..*\.js$/.test(file));
    let hear, take;
    // Of a browser's things it changes some, and uses none.
    const Element = function() {};
    const worker = {
        addEventListener : (type, call) => { hear = call; },
        postMessage : (data) => take(data),
        console,
        Element
    };
    worker.self = worker;
    vm.runInNewContext(read(folder, name), worker);
    return (data) => new Promise((resolve) => {
               take = resolve;
               hear({ data });
           });
}

async function ask()
{
    const ask_worker = start_worker();
    const index = JSON.parse(read('search', 'search_index.json'));
    const options = {
        pipeline : index.config.pipeline || [ 'trimmer', 'stopWordFilter' ],
        suggestions : false
    };
    await ask_worker({
        type : 0,
        data : { config : index.config, docs : index.docs, options }
    });
    const search = search_of_page();
    const found =
        await ask_worker({ type : 2, data : search.transform(question) });
    const [first] = search.order(found.data.items);
    console.log(first ? first[0].location : 'nothing');
}

ask().catch((error) => {
    console.error(error);
    process.exit(1);
});
