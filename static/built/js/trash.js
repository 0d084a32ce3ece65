/* Built of static/ by tools/vendor, do not edit. */
import{h as a,q as s,i as n}from"./first.js";import"../../vendor/preact.js";async function e(t={}){const r=await a("GET",`/api/trash${s(t)}`);return{items:n(r),next:r?.next??null}}const i=t=>a("DELETE",`/api/trash/${t}?confirm=true`);export{i as destroy,e as trash};
