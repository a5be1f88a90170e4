import { createRequire } from 'node:module';
import path from 'node:path';
import { env } from '../support/env.ts';

// The official clients of both protocol eras, of which the tests use these parts.

type Result = {
  readonly isError?: boolean;
  readonly content: readonly { readonly text: string }[];
  // oxlint-disable-next-line typescript/no-explicit-any -- The answers of all tools.
  readonly structuredContent?: any;
};

export type McpClient = {
  readonly connect: (transport: unknown) => Promise<void>;
  readonly listTools: () => Promise<{ readonly tools: readonly { readonly name: string }[] }>;
  readonly callTool: (call: { name: string; arguments: object }) => Promise<Result>;
  readonly close: () => Promise<void>;
};

type Transport = new (...args: readonly unknown[]) => object;
type Module = {
  readonly Client: new (info: object, options?: object) => McpClient;
  readonly StreamableHTTPClientTransport: Transport;
  readonly StdioClientTransport: Transport;
};

const load = async (...names: readonly string[]): Promise<Module> => {
  const { resolve } = createRequire(path.join(env('PUNCTUAL_TEST_TYPESCRIPT_GENERATOR'), 'x.js'));
  const modules = await Promise.all(names.map((name) => import(resolve(name))));
  return Object.assign({}, ...modules);
};

const latest = () => load('@modelcontextprotocol/client', '@modelcontextprotocol/client/stdio');
const earlier = () =>
  load(
    ...['index', 'streamableHttp', 'stdio'].map(
      (name) => `@modelcontextprotocol/sdk/client/${name}.js`,
    ),
  );

/** By name: the package, and what it is asked to speak. */
export const eras: Readonly<Record<string, readonly [() => Promise<Module>, object]>> = {
  'client 2, 2026-07-28': [latest, { versionNegotiation: { mode: { pin: '2026-07-28' } } }],
  'client 2, 2025-11-25': [latest, {}],
  'SDK 1': [earlier, {}],
};

type Era = readonly [() => Promise<Module>, object];

/** Connects over HTTP. */
export async function connectTo(
  [open, options]: Era,
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<McpClient> {
  const { Client, StreamableHTTPClientTransport } = await open();
  const client = new Client({ name: 'test', version: '1' }, options);
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }),
  );
  return client;
}

/** Starts a program and connects to it. */
export async function connectBy(
  [open, options]: Era,
  program: { readonly command: string; readonly args: readonly string[]; readonly env: object },
): Promise<McpClient> {
  const { Client, StdioClientTransport } = await open();
  const client = new Client({ name: 'test', version: '1' }, options);
  await client.connect(new StdioClientTransport(program));
  return client;
}
