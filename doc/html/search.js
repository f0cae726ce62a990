/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * search.js - what a reader types becomes what the theme's search asks its
 * index for; and, where the manual is opened as files, the index and the worker
 * that a browser gives only to pages that come from a server.
 */
(function() {
'use strict';

/* Words that a question has and an answer need not have. */
var IDLE = new Set(
    ('a an and are as at be but by can cannot could did do does for from had ' +
     'has have how i if in into is it its me mean means my no not of on or ' +
     'our please should so than that the their them then there these they ' +
     'this to under up use using was we were what when where which who why ' +
     'will with would you your')
        .split(' '));
var base = document.currentScript.src.replace(/[^/]*$/, '');

/* Signs that the index takes for orders are none in a sentence of an error. */
function words(text)
{
    return text.toLowerCase().split(/[^a-z0-9_']+/).filter(Boolean);
}

function times(count, word)
{
    return Array(count).fill(word);
}

/* A sentence that names a call or a variable is not about that alone. */
function beside_tags(word)
{
    return /^jd_/.test(word) ? 'title:' + word + ' text:' + word : word;
}

/*
 * One word: a whole one, or a public name's without its jd_, weighs more than
 * the words that begin with it, and the theme lets the last be any word's
 * beginning. All of two or three must be there, as beginnings; of a longer
 * sentence, of which a part is its reader's own (hosts, numbers), most is
 * enough.
 */
function transform(text)
{
    var all = words(text);
    var asked = all.filter(function(word) {
        return !IDLE.has(word);
    });
    if (asked.length === 0)
        asked = all;
    if (asked.length > 3)
        return asked.map(beside_tags).join(' ');
    if (asked.length > 1)
        return '+' + asked.join('* +');
    return asked.concat
        .apply([], asked.map(function(word) {
            var name = /^jd_/.test(word) ? [] : times(40, 'jd_' + word);
            return name.concat(times(40, word), word);
        }))
        .join(' ');
}

window.__search = {
    transform : transform
};
if (location.protocol !== 'file:')
    return;

window.__search.index = new Promise(function(resolve) {
    window.jdSearchIndex = resolve;
    var script = document.createElement('script');
    script.src = base + 'search/search_index.js';
    document.head.appendChild(script);
});

/* A worker that is a frame: one thread, the same messages. */
window.IFrameWorker = true;
window.Worker = function(url) {
    var worker = new EventTarget(), frame = document.createElement('iframe');
    var held = [];
    frame.hidden = true;
    document.body.appendChild(frame);
    var inside = frame.contentWindow;
    function hand(data)
    {
        inside.dispatchEvent(
            new inside.MessageEvent('message', { data : data }));
    }
    inside.postMessage = function(data) {
        worker.dispatchEvent(new MessageEvent('message', { data : data }));
    };
    worker.postMessage = function(data) {
        if (held)
            held.push(data);
        else
            hand(data);
    };
    worker.terminate = function() {
        frame.remove();
    };
    var script = inside.document.createElement('script');
    script.src = url;
    script.onload = function() {
        var waiting = held;
        held = null;
        waiting.forEach(hand);
    };
    inside.document.body.appendChild(script);
    return worker;
};
}());
