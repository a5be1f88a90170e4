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
  /** 0 takes a free one. */
  readonly port: number;
  /** Where posts survive a restart, with their files in a folder beside it. Without it they live as long as the sandbox. */
  readonly dataFile?: string | undefined;
  /** The clock, in milliseconds since 1970. */
  readonly now?: () => number;
  /** How long requests under way may take once the sandbox is stopping, in milliseconds; a second when left out. */
  readonly graceMs?: number;
  /** In which a post gets half of the figures that it will ever have, in milliseconds; six hours when left out. */
  readonly halfLifeMs?: number;
};

export type Sandbox = {
  /** Where it listens, without a trailing slash. */
  readonly url: string;
  /** Ends open connections and resolves when everything is on disk. */
  close(): Promise<void>;
};

/**
 * Starts the pretend networks and their page.
 *
 * @throws Error when the port is taken or the data file is not ours.
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
  // Addresses that it names for uploads lead back through the proxy that a request came by.
  app.proxy = true;
  app.on('error', (error: NodeJS.ErrnoException) => {
    // A client that is killed while it uploads is what the sandbox is there for.
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
  // Node's own 5 s are hardly longer than its client keeps an idle connection: a slow machine would reuse one that is closed.
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

/** Whatever a post contains, a browser runs nothing and loads nothing but the page's own files. */
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

/** Many clients know only an origin and drop the path of a base URL, so every API answers there as well. */
const acceptBareOrigin: Middleware = async (ctx, next) => {
  const network = networks.find(({ apiPaths }) =>
    apiPaths.some((path) => ctx.path === path || (path.endsWith('/') && ctx.path.startsWith(path))),
  );
  if (network !== undefined) {
    ctx.path = `/${network.id}${ctx.path}`;
  }
  await next();
};
