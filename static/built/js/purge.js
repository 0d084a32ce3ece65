/* Built of static/ by tools/vendor, do not edit. */
import{h as p,html as o,useSignal as d,useEffect as m}from"../../vendor/preact.js";import{t as v,c2 as f,c3 as k}from"./story.js";import{bP as h,bk as w,K as y,u as M,bl as x,t as e,bD as C,aD as D,M as P}from"./first.js";import"../../vendor/marked.js";import"../../vendor/purify.js";function q({nid:n}){const t=()=>P(null);h.value;const a=w(y(M(n)?.content??""));return p(x,{title:e("command.purge")},o`${a&&o`<q>${a}</q>`}${p(g,{piece:{nodeId:n},keep:t})}`)}function g({piece:n,keep:t}){const a=d(null),s=d(!1),r=async()=>{a.value=null,s.value=!1;const i=await f(n);i?a.value=i:t()};m(()=>{r()},[]);const l=a.value;if(l===null)return p(C,{rows:2});const{nodes:$,branches:u,keptFragments:c}=l.losses,b=async()=>{s.peek()&&!await k(n,l.op)&&await r()};return o`<div class="grave" role="group" aria-label=${e("command.purge")}>${D("warning")}<div>
    <p>${e("purge.nodes",{n:$})}</p>
    ${u>1&&o`<p>${e("purge.branches",{n:u})}</p>`}${c>0&&o`<p>${e("purge.kept",{n:c})}</p>`}
    <p>${e("purge.forGood")}</p><p class="aside">${e("purge.beyond")}</p></div>
    <label class="check"><input type="checkbox" checked=${s.value} onChange=${()=>s.value=!s.peek()} /><span>${e("purge.meant")}</span></label>
    <div class="actions"><button type="button" ref=${v} onClick=${t}>${e("stash.keep")}</button>
      <button type="button" class="primary danger" disabled=${!s.value} onClick=${b}>${e("command.purge")}</button></div></div>`}export{g as Purge,q as PurgeMessage};
