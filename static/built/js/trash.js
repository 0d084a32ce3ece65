/* Built of static/ by tools/vendor, do not edit. */
import{h as e,q as r,i as s,aE as n}from"./first.js";import"../../vendor/preact.js";async function i(t={}){const a=await e("GET",`/api/trash${r(t)}`);return{items:s(a),next:a?.next??null}}const o=t=>n(`/api/trash/${t}?confirm=true`);export{o as destroy,i as trash};
