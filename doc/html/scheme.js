/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scheme.js - pages are as light or dark as the reader's system, and change
 * with it, until the reader chooses otherwise by the switch; the theme alone
 * would keep what the system was at the first visit. Runs before the theme's
 * own scripts.
 */
(function() {
'use strict';

var system = matchMedia('(prefers-color-scheme: dark)');
var get = window.__md_get, set = window.__md_set;
var NAME = '__palette';

/* The theme's numbers: mkdocs.yml has light before dark. */
function of_system()
{
    return {
        index : system.matches ? 1 : 0,
        color : {
            scheme : system.matches ? 'slate' : 'default',
            primary : 'indigo',
            accent : ''
        }
    };
}

window.__md_get = function(name) {
    var kept = null;
    try {
        kept = get.apply(null, arguments);
    } catch (refused) {
        /* A browser that keeps nothing has no choice to tell. */
    }
    return name === NAME && !kept ? of_system() : kept;
};
window.__md_set = function(name, value) {
    var is_choice = name !== NAME || value.index !== of_system().index;
    try {
        set.call(null, name, is_choice ? value : null);
    } catch (refused) {
        /* As above. */
    }
};
system.addEventListener('change', function() {
    var inputs = document.querySelectorAll('input[name=' + NAME + ']');
    var input = inputs[of_system().index];
    if (input) {
        input.checked = true;
        input.dispatchEvent(new Event('change'));
    }
});
}());
