/* Built of static/ by tools/vendor, do not edit. */
import{h as l,html as o,useSignal as d,useEffect as b}from"../../vendor/preact.js";import{t as v,c8 as f,c9 as k}from"./story.js";import{bP as h,bm as w,K as y,u as M,bn as x,t as e,bE as C,aG as P,M as q}from"./first.js";import"../../vendor/marked.js";import"../../vendor/purify.js";function E({nid:s}){const t=()=>q(null);h.value;const a=w(y(M(s)?.content??""));return l(x,{title:e("command.purge")},o`${a&&o`<q>${a}</q>`}${l(g,{piece:{nodeId:s},keep:t})}`)}function g({piece:s,keep:t}){const a=d(null),n=d(!1),r=async()=>{a.value=null,n.value=!1;const i=await f(s);i?a.value=i:t()};b(()=>{r()},[]);const p=a.value;if(p===null)return l(C,{rows:2});const{nodes:$,branches:u,keptFragments:c}=p.losses,m=async()=>{n.peek()&&!await k(s,p.op)&&await r()};return o`<div class="grave" role="group" aria-label=${e("command.purge")}>${P("warning")}<div>
    <p>${e("purge.nodes",{n:$})}</p>
    ${u>1&&o`<p>${e("purge.branches",{n:u})}</p>`}${c>0&&o`<p>${e("purge.kept",{n:c})}</p>`}
    <p>${e("purge.forGood")}</p><p class="aside">${e("purge.beyond")}</p></div>
    <label class="check"><input type="checkbox" checked=${n.value} onChange=${()=>n.value=!n.peek()} /><span>${e("purge.meant")}</span></label>
    <div class="actions"><button type="button" ref=${v} onClick=${t}>${e("stash.keep")}</button>
      <button type="button" class="primary danger" disabled=${!n.value} onClick=${m}>${e("command.purge")}</button></div></div>`}export{g as Purge,E as PurgeMessage};
