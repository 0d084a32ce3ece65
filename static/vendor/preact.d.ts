// Types of vendor/preact.js: the packages' own, found through the paths of static/tsconfig.json.
import { h } from "preact";
export { Component, Fragment, h, render } from "preact";
export type { ComponentChildren, ComponentType, RefObject, VNode } from "preact";
export { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
export { batch, computed, effect, signal, untracked, useComputed, useSignal, useSignalEffect } from "@preact/signals";
export type { ReadonlySignal, Signal } from "@preact/signals";
/** htm bound to h. Attribute values are not checked: cross component boundaries with h(). */
export declare const html: (strings: TemplateStringsArray, ...values: unknown[]) => ReturnType<typeof h>;
