// Types of vendor/preact.js: the packages' own, found through the paths of static/tsconfig.json.
export { Component, Fragment, h, render } from "preact";
export type { ComponentChildren, ComponentType, HTMLAttributes, RefObject, VNode } from "preact";
export { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
export { batch, computed, effect, signal, untracked, useComputed, useSignal, useSignalEffect } from "@preact/signals";
export type { ReadonlySignal, Signal } from "@preact/signals";
