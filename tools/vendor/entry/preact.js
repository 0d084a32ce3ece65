// The page's runtime in one module: preact, its hooks and signals share one copy of preact.
export { Component, Fragment, h, render } from "preact";
export { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
export { batch, computed, effect, signal, untracked, useComputed, useSignal, useSignalEffect } from "@preact/signals";
