/* Built of static/ by tools/vendor, do not edit. */
import{useSignal as $,useEffect as b,html as l,h as c}from"../../vendor/preact.js";import{J as A,K as G,L as T,M as N,N as P,O as V,P as B,c as D}from"./tools.js";import{aZ as F,a_ as j,a$ as y,b0 as H,b1 as W}from"./story.js";import{t,ax as v,bm as k,o as R,bb as w,bp as L,bf as q,ay as x}from"./first.js";import{aA as J,aB as C,aC as h,aD as K}from"./shared.js";import"../../vendor/marked.js";import"../../vendor/purify.js";const E=new Set(["new","newer","older","other"]);function X({characterId:a}){const i=$(null),s=$(!1),e=$(!1),r=()=>A(a).then(m=>{i.value=m},()=>{});b(()=>{r()},[]);const n=i.value;if(!n)return null;const o=async()=>{await T(a,n)&&(s.value=!0,await r())},d=async()=>{e.value=!1,await N(a)&&await r()};return l`<details open=${s.value||n.state!=="none"&&n.state!=="same"}><summary>${t("cardRules.title")}</summary><div class="card-rules">
    ${s.value&&l`<p role="status">${t("cardRules.taken")}</p>`}
    ${n.state==="none"?c(z,{characterId:a,rules:i}):l`${c(Y,{seen:n})}
      <div class="actions start">${E.has(n.state)&&l`<button type="button" class="primary" onClick=${o}>${v("check")}<span>${t("cardRules.accept")}</span></button>`}
        <button type="button" aria-expanded=${e.value} onClick=${()=>e.value=!0}>${v("trash")}<span>${t("cardRules.drop")}</span></button></div>
      ${e.value&&c(F,{text:t("cardRules.dropText"),yes:t("cardRules.dropYes"),no:t("cardRules.dropNo"),act:d,keep:()=>e.value=!1})}
      ${E.has(n.state)&&l`<p class="aside">${t("cardRules.acceptText")}</p>`}`}</div></details>`}function Y({seen:a}){const{state:i,title:s,version:e,installedVersion:r,description:n,permissions:o,asksMore:d,warnings:m,error:g,files:f}=a;return l`<p>${t(`cardRules.${i==="none"?"same":i}`,{installed:r??"",version:e??""})}</p>
    ${g&&l`<p class="fault bad">${v("warning")}${k(g.message)}</p>`}
    ${s&&l`<h3>${C(s)} ${e}</h3><p>${C(n)}</p>
      <h3>${t("cardRules.may")}</h3>${o.length===0?l`<p class="aside">${t("cardRules.mayNothing")}</p>`:l`<ul>${o.map(({name:p,words:u})=>l`<li key=${p}>${d.includes(p)?t("cardRules.more",{words:u}):u}</li>`)}</ul>`}`}
    ${m.map((p,u)=>l`<p key=${u} class="fault">${v("warning")}${k(p.message)}</p>`)}
    ${f.length>0&&l`<h3>${t("cardRules.files")}</h3>${f.map(p=>c(Z,{key:p.path,file:p}))}`}`}function Z({file:{path:a,change:i,before:s,after:e}}){const r=t(i==="same"?"cardRules.sameFile":`cardRules.${i}`);return l`<details><summary><code>${a}</code> ${r}</summary>
    ${s!==null&&e!==null&&s!==e?c(_,{before:s,after:e}):l`<pre tabindex="0">${h(e??s??"")}</pre>`}</details>`}const _=({before:a,after:i})=>l`<p class="aside"><del>− ${t("cardRules.before")}</del> <ins>+ ${t("cardRules.after")}</ins></p><pre class="lines" tabindex="0">${K(h(a),h(i)).map(({sign:s,text:e},r)=>s===""?l`<span key=${r}>${`  ${e}
`}</span>`:s==="-"?l`<del key=${r}>${`− ${e}
`}</del>`:l`<ins key=${r}>${`+ ${e}
`}</ins>`)}</pre>`;function z({characterId:a,rules:i}){const s=$([]),e=$("");b(()=>{G().then(o=>{s.value=o.filter(({isOk:d})=>d)},()=>{})},[]);const r=async()=>{const o=e.peek()&&await P(a,e.peek());o&&(i.value=o)},n=J(s.value);return l`<p class="aside">${t("cardRules.none")} ${t("cardRules.putText")}</p>
    <label>${t("cardRules.which")}<select value=${e.value} onChange=${o=>e.value=o.target.value}>
      <option value="">–</option>${s.value.map(({id:o})=>l`<option key=${o} value=${o}>${n.get(o)}</option>`)}</select></label>
    <div class="actions start"><button type="button" aria-disabled=${e.value?null:"true"} onClick=${r}>${v("plug")}<span>${t("cardRules.put")}</span></button></div>`}x(D),x(W);const O=[["description",6],["personality",2],["scenario",3],["firstMessage",4]],S=[["exampleMessages",5],["systemPrompt",3],["postHistoryInstructions",3],["creatorNotes",3]];function I({characterId:a}){const i=$(null);b(()=>{Promise.all([V(a),j(a)]).then(([e])=>e?i.value=e:R(null))},[]);const s=t("character.edit");return i.value?c(w,{title:s,class:"wide",keeps:!0},c(Q,{character:i.value})):c(w,{title:s},c(L,{rows:4}))}function Q({character:a}){const i=$(a.alternateGreetings.map((n,o)=>({n:o,text:n}))),s=$(null),e=async n=>{n.preventDefault();const o=new FormData(n.target),d=M.find(([u])=>u===o.get("outside"));if(d&&d[1]!==(y(a.id).peek().allowed??null)&&!await H(a.id,d[1]))return;const m=u=>String(o.get(u)??"").replaceAll(`\r
`,`
`),g=Object.fromEntries([...O,...S].map(([u])=>[u,m(u)])),f=m("tags").split(/[,，、\n]/).map(u=>u.trim()).filter(Boolean),p=o.getAll("greeting").map(u=>String(u).replaceAll(`\r
`,`
`)).filter(u=>u.trim());B(a.id,{...g,name:m("name"),tags:f,alternateGreetings:p},s.value)},r=([n,o])=>l`<label key=${n}>${t(`character.${n}`)}<textarea name=${n} rows=${o} defaultValue=${a[n]}></textarea></label>`;return l`<form onSubmit=${e}>
    ${c(ee,{character:a,picture:s})}
    <label>${t("character.name")}<input name="name" required maxlength="200" autofocus defaultValue=${a.name} /></label>
    ${O.map(r)}${c(ae,{greetings:i})}
    <label>${t("character.tags")}<input name="tags" defaultValue=${a.tags.join(", ")} /><small>${t("character.tagsHint")}</small></label>
    <details><summary>${t("character.more")}</summary>${S.map(r)}</details>
    ${c(U,{characterId:a.id})}
    ${c(X,{characterId:a.id})}
    <div class="actions"><button type="button" onClick=${()=>R(null)}>${t("cancel")}</button><button class="primary">${t("save")}</button></div></form>`}const M=[["ask",null],["yes",!0],["no",!1]];function U({characterId:a}){const i=y(a).value.allowed??null;return l`<label>${t("outside.setting")}<select name="outside">${M.map(([s,e])=>l`<option key=${s} value=${s} selected=${e===i}>${t(`outside.setting.${s}`)}</option>`)}</select><small>${t("outside.settingHint")}</small></label>`}function ee({character:a,picture:i}){const s=e=>{i.value=e.target.files?.[0]??null};return l`<div class="picture">${c(q,{name:a.name,src:a.avatar??null})}
    <label>${t("character.picture")}<input type="file" accept="image/png,image/jpeg,image/webp,image/gif" onChange=${s} /></label></div>`}function ae({greetings:a}){const i=()=>a.value=[...a.value,{n:Math.max(0,...a.value.map(({n:e})=>e))+1,text:""}],s=e=>a.value=a.value.filter(r=>r.n!==e);return l`<fieldset><legend>${t("character.greetings")}</legend>
    ${a.value.map(({n:e,text:r},n)=>l`<div key=${e} class="greeting"><textarea name="greeting" rows="3" aria-label=${t("character.greeting",{n:n+2})} defaultValue=${r}></textarea>
      <button type="button" class="round" aria-label=${t("character.dropGreeting",{n:n+2})} title=${t("character.dropGreeting",{n:n+2})} onClick=${()=>s(e)}>${v("trash")}</button></div>`)}
    <button type="button" onClick=${i}>${v("plus")}<span>${t("character.addGreeting")}</span></button></fieldset>`}export{I as EditCharacter};
