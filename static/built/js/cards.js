/* Built of static/ by tools/vendor, do not edit. */
import{html as e}from"../../vendor/preact.js";import{t as c,e as i,f as p,h as u,c as b}from"./tools.js";import{o as r,ax as o,t as n,cu as d,ay as s}from"./first.js";import{P as $}from"./story.js";import"../../vendor/marked.js";import"../../vendor/purify.js";s(b),s($);const l=["png","json","charx"],m=({character:t})=>e`<button type="button" onClick=${()=>r({kind:"editCharacter",characterId:t.id})}>${o("edit")}${n("character.edit")}</button>
    ${l.map(a=>e`<button type="button" onClick=${()=>c(t.id,a)}>${o("download")}${n(`character.take.${a}`)}</button>`)}
    <button type="button" onClick=${()=>d(t)}>${o("trash")}${n("library.deleteCharacter")}</button>`,k=({session:{id:t,title:a}})=>e`<button type="button" onClick=${()=>i({id:t,title:a})}>${o("copy")}${n("library.duplicate")}</button>
    <button type="button" onClick=${()=>r({kind:"spent",sid:t})}>${o("chart")}${n("command.spent")}</button>
    <button type="button" onClick=${()=>p(t)}>${o("download")}${n("command.export")}</button>
    <button type="button" onClick=${()=>u(t,a)}>${o("download")}${n("command.exportAs")}</button>`;export{m as CharacterTools,k as SessionTools};
