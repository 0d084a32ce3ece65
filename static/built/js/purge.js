/* Built of static/ by tools/vendor, do not edit. */
import{h as r,html as s,useSignal as d,useEffect as b}from"../../vendor/preact.js";import{aT as f,aU as v}from"./tools.js";import{bP as k,b8 as h,p as w,z as y,b9 as x,t as e,bn as C,ax as M,o as P}from"./first.js";import{ax as q}from"./story.js";import"../../vendor/marked.js";import"../../vendor/purify.js";function F({nid:o}){const t=()=>P(null);k.value;const a=h(w(y(o)?.content??""));return r(x,{title:e("command.purge")},s`${a&&s`<q>${a}</q>`}${r(g,{piece:{nodeId:o},keep:t})}`)}function g({piece:o,keep:t}){const a=d(null),n=d(!1),l=async()=>{a.value=null,n.value=!1;const i=await f(o);i?a.value=i:t()};b(()=>{l()},[]);const p=a.value;if(p===null)return r(C,{rows:2});const{nodes:$,branches:u,keptFragments:c}=p.losses,m=async()=>{n.peek()&&!await v(o,p.op)&&await l()};return s`<div class="grave" role="group" aria-label=${e("command.purge")}>${M("warning")}<div>
    <p>${e("purge.nodes",{n:$})}</p>
    ${u>1&&s`<p>${e("purge.branches",{n:u})}</p>`}${c>0&&s`<p>${e("purge.kept",{n:c})}</p>`}
    <p>${e("purge.forGood")}</p><p class="aside">${e("purge.beyond")}</p></div>
    <label class="check"><input type="checkbox" checked=${n.value} onChange=${()=>n.value=!n.peek()} /><span>${e("purge.meant")}</span></label>
    <div class="actions"><button type="button" ref=${q} onClick=${t}>${e("stash.keep")}</button>
      <button type="button" class="primary danger" disabled=${!n.value} onClick=${m}>${e("command.purge")}</button></div></div>`}export{g as Purge,F as PurgeMessage};
