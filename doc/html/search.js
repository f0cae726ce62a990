/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * search.js - what a reader types becomes what the theme's search asks its
 * index for; of a page that it finds, the section that answers comes first;
 * and, where the manual is opened as files, the index and the worker that a
 * browser gives only to pages that come from a server.
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
var asked = [];
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
    asked = all.filter(function(word) {
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

/* How many of the words that were asked for it has itself. */
function own_words(result)
{
    var own = (result.title + ' ' + result.text).toLowerCase();
    return asked
        .filter(function(word) {
            return own.includes(word);
        })
        .length;
}

/*
 * Results of one page each. The theme gives a page the words of all its
 * sections, and shows a section beside it only where none has a higher score: a
 * section that has more of the words itself comes first.
 */
function order(pages)
{
    pages.forEach(function(results) {
        results.forEach(function(result) {
            result.own = own_words(result);
        });
        results.sort(function(a, b) {
            return b.own - a.own || b.score - a.score;
        });
        results.forEach(function(result, place) {
            result.score = -place;
        });
    });
    return pages;
}

/* Listens before the theme does, to what it is given too. */
function ordered(worker)
{
    worker.addEventListener('message', function(event) {
        var found = event.data && event.data.data;
        if (found && Array.isArray(found.items))
            order(found.items);
    });
    return worker;
}

window.__search = {
    transform : transform,
    order : order
};
var Worker = window.Worker;
window.Worker = function(url, options) {
    return ordered(new Worker(url, options));
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
    var worker = ordered(new EventTarget());
    var frame = document.createElement('iframe');
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
