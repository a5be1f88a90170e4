import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Koa, { type Middleware } from 'koa';
import { controlRoutes } from './control.ts';
import { figureRoutes } from './control-figures.ts';
import { createFigures } from './figures.ts';
import { openFiles } from './files.ts';
import { createCodes } from './oauth/codes.ts';
import { createGrants } from './oauth/grants.ts';
import { loadAssets } from './page/assets.ts';
import { createEvents } from './page/events.ts';
import { pageRoutes } from './page/routes.ts';
import { networks } from './registry.ts';
import { createScript } from './script.ts';
import { openStore } from './store.ts';

export type SandboxOptions = {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /**
   * Keeps posts across restarts, with their files in a folder next to it. Without it, all data is lost when the sandbox
   * stops.
   */
  readonly dataFile?: string | undefined;
  /** The clock, in milliseconds since 1970. */
  readonly now?: () => number;
  /** Grace period for requests under way at the stop, in milliseconds; 1000 by default. */
  readonly graceMs?: number;
  /** Age at which a post has half of its final figures, in milliseconds; six hours by default. */
  readonly halfLifeMs?: number;
};

export type Sandbox = {
  /** Base URL, without a trailing slash. */
  readonly url: string;
  /** Closes open connections and resolves when everything is on disk. */
  close(): Promise<void>;
};

/**
 * Starts the simulated networks and their page.
 *
 * @throws Error when the port is in use or the data file is invalid.
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { host, port, dataFile, now = Date.now, graceMs = 1000, halfLifeMs } = options;
  const schemas = Object.fromEntries(networks.map(({ id, postSchema }) => [id, postSchema]));
  const store = await openStore(dataFile, schemas, now);
  const files = await openFiles(dataFile && `${dataFile}.files`);
  const events = createEvents(store);
  const grants = createGrants(store.grants, now);
  const script = createScript(now, grants);

  const figures = createFigures(now, halfLifeMs);
  const deps = { store, files, script, figures, grants, codes: createCodes(now), now };

  const app = new Koa();
  // Upload URLs must lead back through the proxy of the request.
  app.proxy = true;
  app.on('error', (error: NodeJS.ErrnoException) => {
    // Killed clients are an expected use of the sandbox.
    if (!/^(?:HPE_|ECONN|EPIPE)/v.test(error.code ?? '')) {
      app.onerror(error);
    }
  });
  app.use(guardBrowser);
  app.use(acceptBareOrigin);
  app.use(controlRoutes(script).routes());
  app.use(figureRoutes({ store, figures }).routes());
  for (const network of networks) {
    app.use(network.routes(deps).routes());
  }
  app.use(pageRoutes({ store, files, events, assets: await loadAssets(networks) }).routes());

  const server = createServer(app.callback());
  // Node's default of 5 s is hardly longer than its client keeps idle connections: a slow machine would reuse a closed
  // one.
  server.keepAliveTimeout = 75_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const { address, family, port: taken } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}`,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      events.close();
      const cut = setTimeout(() => server.closeAllConnections(), graceMs);
      await closed;
      clearTimeout(cut);
      await store.settle();
      await files.close();
    },
  };
}

/** Whatever a post contains, browsers only run and load the page's own files. */
const guardBrowser: Middleware = async (ctx, next) => {
  ctx.set({
    'content-security-policy':
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
  });
  await next();
};

/** Many clients drop the path of a base URL, so every API is also available at the bare origin. */
const acceptBareOrigin: Middleware = async (ctx, next) => {
  const network = networks.find(({ apiPaths }) =>
    apiPaths.some((path) => ctx.path === path || (path.endsWith('/') && ctx.path.startsWith(path))),
  );
  if (network !== undefined) {
    ctx.path = `/${network.id}${ctx.path}`;
  }
  await next();
};
