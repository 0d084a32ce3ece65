// The page's runtime in one module: preact, its hooks, signals and htm share one copy of preact.
import { h } from "preact";
import htm from "htm";

export { Component, Fragment, h, render } from "preact";
export { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
export { batch, computed, effect, signal, untracked, useComputed, useSignal, useSignalEffect } from "@preact/signals";
export const html = htm.bind(h);
