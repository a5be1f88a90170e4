import { readFileSync } from 'node:fs';
import { Router, type RouterContext } from '@koa/router';
import type { Context } from 'koa';
import { AppError } from '../../../domain/errors.ts';
import { createKeyedSemaphore } from '../../../runtime/concurrency.ts';
import { finishConnecting } from '../../../services/channels/connect-at-network.ts';
import { Problem } from '../../../services/channels/connect-problem.ts';
import type { ApiDeps } from '../../deps.ts';
import { serveFile, staticFile } from '../../docs/static-file.ts';
import { httpStatusOf, named, type LogFailure } from '../../http/errors.ts';
import { clientSignalOf } from '../../http/mount.ts';
import { readText } from '../../http/read-body.ts';
import { clientAddress, originOf } from '../../rate-limits/client-address.ts';
import { createConcurrencyLimit } from '../../rate-limits/limiter.ts';
import { basePath, browserOf } from './browser.ts';
import { showPage } from './document.ts';
import { problemPage, usedPage } from './pages.ts';
import { goOn, lookOf, sendForm, showLink } from './steps.ts';

/** Concurrent requests of one client address that look up or show a link. They need no key. */
const mostPerAddress = 4;

/** Requests of one link that may call its network at the same time, and that may wait for this. */
const [mostPerLink, mostWaiting] = [2, 10];

type Room = {
  /** Waits for a slot of the client's address. */
  readonly enter: () => Promise<void>;
  /** Moves to a slot of the link: a hanging network does not block other people at the same address. */
  readonly workOn: (token: string) => Promise<void>;
};

const statusOfProblem: Readonly<Partial<Record<Problem['code'], number>>> = {
  unknown_link: 404,
  used: 410,
  expired: 410,
  other_browser: 403,
  network_not_configured: 503,
};

/** Pages for people who connect an account. They need no key: the token in the link authorizes. */
export function connectPages(deps: ApiDeps & { readonly logFailure: LogFailure }): Router {
  const places = createKeyedSemaphore(mostPerAddress);
  const works = createKeyedSemaphore(mostPerLink);
  const limitRequests = createConcurrencyLimit(mostPerLink + mostWaiting, 'of this link');
  const style = staticFile(
    'text/css; charset=utf-8',
    readFileSync(new URL('style.css', import.meta.url)),
  );

  const shown =
    (handle: (ctx: RouterContext, room: Room) => Promise<void>) =>
    async (ctx: RouterContext): Promise<void> => {
      const signal = clientSignalOf(ctx.res);
      let leave = (): void => undefined;
      const enter = async (): Promise<void> => {
        leave = await places(clientAddress(ctx.ip), signal);
      };
      const workOn = async (token: string): Promise<void> => {
        leave();
        limitRequests(ctx, token);
        leave = await works(token, signal);
      };
      try {
        deps.gate.assertOpen();
        await handle(ctx, { enter, workOn });
      } catch (error) {
        const failure = await showFailure(deps, ctx, error);
        if (failure) {
          deps.logFailure(ctx, failure, error);
        }
      } finally {
        leave();
      }
    };

  return new Router({ sensitive: true, strict: true })
    .get('/connect/style.css', (ctx) => serveFile(ctx, style))
    .get(
      '/connect/callback/:key',
      shown((ctx, room) => handleCallback(deps, ctx, room)),
    )
    .get(
      '/connect/:token',
      shown(async (ctx, { enter }) => {
        await enter();
        await showLink(deps, ctx);
      }),
    )
    .post(
      '/connect/:token',
      shown(async (ctx, { enter, workOn }) => {
        const form = await readForm(ctx); // Before it takes a slot: the body may be slow.
        await enter();
        await sendForm(deps, ctx, form, workOn);
      }),
    );
}

async function handleCallback(deps: ApiDeps, ctx: RouterContext, room: Room): Promise<void> {
  if (ctx.method !== 'GET') {
    ctx.status = 204; // A HEAD request must not redeem the answer.
    return;
  }

  await room.enter();
  const token = await finishConnecting(deps, {
    key: ctx.params['key'] ?? '',
    // Not from `ctx.URL`, which needs a valid Host header.
    answer: new URLSearchParams(ctx.querystring),
    browser: browserOf(ctx, deps.publicUrl),
    onKnown: room.workOn,
    origin: originOf(ctx),
  });
  await goOn(deps, ctx, token);
}

/** @returns null for a refusal that belongs to the link. */
async function showFailure(
  deps: ApiDeps,
  ctx: RouterContext,
  error: unknown,
): Promise<AppError | null> {
  // Another failure may be the database's, so its page asks it for no brand.
  const plain = { base: basePath(deps.publicUrl), brand: deps.brand };
  if (error instanceof Problem) {
    const page = error.code === 'used' ? usedPage(error.message) : problemPage(error.message);
    showPage(
      ctx,
      statusOfProblem[error.code] ?? 400,
      page,
      await lookOf(deps, ctx).catch(() => plain),
    );
    return null;
  }

  const failure = named(error);
  const status = httpStatusOf[failure.code];
  if (status === 503 || status === 429) {
    ctx.set('Retry-After', '2');
  }

  const message = failure.message.replace('X-Request-Id', `$& ${ctx.state['requestId']}`);
  showPage(ctx, status, problemPage(message), plain);
  return failure;
}

/** In bytes: a key, a step and some fields. */
const maxBytes = 16 * 1024;

async function readForm(ctx: Context): Promise<URLSearchParams> {
  if (!ctx.is('application/x-www-form-urlencoded')) {
    throw new AppError('unsupported_media_type', 'This address accepts only the form of its page.');
  }

  return new URLSearchParams(await readText(ctx, { most: maxBytes }));
}
