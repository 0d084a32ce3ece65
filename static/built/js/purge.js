/* Built of static/ by tools/vendor, do not edit. */
import{h as r,html as n,useSignal as d,useEffect as b}from"../../vendor/preact.js";import{aV as f,aW as v}from"./tools.js";import{bR as k,ba as h,p as w,z as y,bb as x,t as e,bp as C,ax as M,o as q}from"./first.js";import{ax as F}from"./story.js";import"../../vendor/marked.js";import"../../vendor/purify.js";function P({nid:s}){const t=()=>q(null);k.value;const a=h(w(y(s)?.content??""));return r(x,{title:e("command.purge")},n`${a&&n`<q>${a}</q>`}${r(g,{piece:{nodeId:s},keep:t})}`)}function g({piece:s,keep:t}){const a=d(null),o=d(!1),l=async()=>{a.value=null,o.value=!1;const i=await f(s);i?a.value=i:t()};b(()=>{l()},[]);const p=a.value;if(p===null)return r(C,{rows:2});const{nodes:$,branches:u,keptFragments:c}=p.losses,m=async()=>{o.peek()&&!await v(s,p.op)&&await l()};return n`<div class="grave" role="group" aria-label=${e("command.purge")}>${M("warning")}<div>
    <p>${e("purge.nodes",{n:$})}</p>
    ${u>1&&n`<p>${e("purge.branches",{n:u})}</p>`}${c>0&&n`<p>${e("purge.kept",{n:c})}</p>`}
    <p>${e("purge.forGood")}</p><p class="aside">${e("purge.beyond")}</p></div>
    <label class="check"><input type="checkbox" checked=${o.value} onChange=${()=>o.value=!o.peek()} /><span>${e("purge.meant")}</span></label>
    <div class="actions"><button type="button" ref=${F} onClick=${t}>${e("stash.keep")}</button>
      <button type="button" class="primary danger" disabled=${!o.value} onClick=${m}>${e("command.purge")}</button></div></div>`}export{g as Purge,P as PurgeMessage};
