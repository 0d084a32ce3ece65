// The calls of the workshop: plugins, their files, and trial runs of their rules.
import { call, items } from "./api.ts";
import type * as Wire from "../lib/wire.d.ts";

const at = (id: string) => `/api/plugins/${encodeURIComponent(id)}`;
const fileAt = (id: string, path: string) => `${at(id)}/files/${path.split("/").map(encodeURIComponent).join("/")}`;

export const plugins = async (): Promise<Wire.PluginInfo[]> => items(await call("GET", "/api/plugins?limit=200"));

export const plugin = (id: string): Promise<Wire.PluginDetail> => call("GET", at(id));

export const file = (id: string, path: string): Promise<Wire.PluginFile> => call("GET", fileAt(id, path));

export const saveFile = (id: string, path: string, content: string): Promise<Wire.PluginFileVersion> =>
  call("PUT", fileAt(id, path), { content });

export const check = (id: string, files: Wire.FileTexts): Promise<Wire.PluginCheckResult> =>
  call("POST", `${at(id)}/check`, { files });

export const reference = (): Promise<Wire.PluginReference> => call("GET", "/api/plugins/reference");

export const test = (id: string, files: Wire.FileTexts): Promise<Wire.PluginTestResult> =>
  call("POST", `${at(id)}/test`, { files });

export const tryHook = (id: string, wanted: Wire.HookTrial): Promise<Wire.HookTrialResult> =>
  call("POST", `${at(id)}/try`, wanted);

export const replay = (id: string, wanted: Wire.PluginReplay): Promise<Wire.PluginReplayResult> =>
  call("POST", `${at(id)}/replay`, wanted);
