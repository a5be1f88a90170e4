import type { RouterContext } from '@koa/router';
import type { ConnectLink } from '../../../db/entities/channels.ts';
import {
  beginConnecting,
  chooseAccount,
  openChoice,
} from '../../../services/channels/connect-at-network.ts';
import { findLink, type ConnectStep } from '../../../services/channels/connect-link.ts';
import { Problem, problemOf } from '../../../services/channels/connect-problem.ts';
import { connectWithSecret } from '../../../services/channels/connect-with-secret.ts';
import {
  brandAt,
  connectedAccount,
  describeLink,
  networkNameOf,
} from '../../../services/channels/read-link.ts';
import { countLostPosts, sendLostPosts } from '../../../services/channels/reconnect-channel.ts';
import type { ApiDeps } from '../../deps.ts';
import { clientAddress, originOf } from '../../rate-limits/client-address.ts';
import { basePath, browserOf, formKey, isFormKey, markBrowser } from './browser.ts';
import { showPage, type Look } from './document.ts';
import {
  choicePage,
  connectedPage,
  leavePage,
  linkPage,
  problemPage,
  retriedPage,
  waitPage,
} from './pages.ts';

type Shown = {
  readonly error?: string;
  readonly typed?: Readonly<Record<string, string>>;
};

/** The look of the page that a request gets: that of its link, which its token or else the network's answer names. */
export async function lookOf(deps: ApiDeps, ctx: RouterContext): Promise<Look> {
  const { token } = ctx.params;
  const state = new URLSearchParams(ctx.querystring).get('state') ?? '';
  const brand = await brandAt(deps, token === undefined ? { state } : { token });
  return { base: basePath(deps.publicUrl), brand };
}

/** Shows the page of a link. Reading it changes nothing, so anyone may do so any number of times. */
export async function showLink(deps: ApiDeps, ctx: RouterContext): Promise<void> {
  const token = ctx.params['token'] ?? '';
  const link = await findLink(deps.orm, token, deps.now());
  const browser = markBrowser(ctx, deps.publicUrl);
  await show(deps, ctx, { link, token, browser, origin: originOf(ctx) }, {});
}

async function show(
  deps: ApiDeps,
  ctx: RouterContext,
  step: ConnectStep,
  { error, typed = {} }: Shown,
): Promise<void> {
  const { link } = step;
  const look = await lookOf(deps, ctx);
  const form = formOn(look, step);
  if (link.status === 'connected') {
    showPage(ctx, 200, connectedPage(await connectedAccount(deps, step), form), look);
  } else if (link.status === 'failed') {
    const back = returnAddress(link, { error: link.errorCode ?? 'failed' });
    showPage(ctx, 200, problemPage(link.error ?? 'This link was used.', back), look);
  } else if (link.status === 'redeeming') {
    showPage(ctx, 200, waitPage(form.action), look);
  } else {
    const shownError = error ?? link.error;
    const back = link.errorCode === null ? null : returnAddress(link, { error: link.errorCode });
    const described = await describeLink(deps, link);
    const view = { ...described, link, form, error: shownError, typed, back };
    const page =
      link.status === 'choosing'
        ? choicePage(view, openChoice(deps, step).accounts)
        : linkPage(view);
    showPage(ctx, error === undefined ? 200 : 400, page, look);
  }
}

const formOn = ({ base }: Look, { token, browser }: ConnectStep) => ({
  action: `${base}/connect/${token}`,
  key: formKey(browser, token),
});

/** Handles a form. @param onKnown Called once the form key is verified, before any request to a network. */
export async function sendForm(
  deps: ApiDeps,
  ctx: RouterContext,
  form: URLSearchParams,
  onKnown: (token: string) => Promise<void>,
): Promise<void> {
  const token = ctx.params['token'] ?? '';
  const fields = Object.fromEntries(form);
  const { key = '', step: kind = '', account, ...values } = fields;
  const link = await findLink(deps.orm, token, deps.now());
  const browser = browserOf(ctx, deps.publicUrl);
  const origin = originOf(ctx);
  if (browser === null || !isFormKey(key, browser, token)) {
    const fresh = { link, token, browser: markBrowser(ctx, deps.publicUrl), origin };
    const error =
      'Your browser did not send back the cookie of this page. Allow cookies here, and try again.';
    await show(deps, ctx, fresh, { error });
    return;
  }

  await onKnown(token);
  const step = { link, token, browser, origin };
  try {
    await take(deps, ctx, step, { kind, account, values });
  } catch (error) {
    const problem = problemOf(error);
    if (!problem || problem.code === 'used') {
      throw error;
    }

    const now = await findLink(deps.orm, token, deps.now());
    const { [secretName(deps, link.platform)]: _secret, ...typed } = values;
    await show(
      deps,
      ctx,
      { ...step, link: now },
      {
        error: problem.message,
        typed: { ...typed, step: kind },
      },
    );
  }
}

const secretName = ({ networks }: ApiDeps, platform: string): string => {
  const connectors: Readonly<Record<string, { readonly secret: string }>> = networks.connectors;
  return connectors[platform]?.secret ?? 'secret';
};

type Sent = {
  readonly kind: string;
  readonly account: string | undefined;
  readonly values: Readonly<Record<string, string>>;
};

async function take(
  deps: ApiDeps,
  ctx: RouterContext,
  step: ConnectStep,
  { kind, account, values }: Sent,
): Promise<void> {
  if (kind === 'begin') {
    const url = await beginConnecting(deps, step, values);
    const page = leavePage(networkNameOf(deps, step.link), url);
    showPage(ctx, 200, page, await lookOf(deps, ctx));
  } else if (kind === 'choose') {
    const index = /^\d{1,4}$/v.test(account ?? '') ? Number(account) : -1;
    await chooseAccount(deps, step, index);
    await goOn(deps, ctx, step.token);
  } else if (kind === 'secret') {
    await connectWithSecret(deps, step, values, clientAddress(ctx.ip));
    await goOn(deps, ctx, step.token);
  } else if (kind === 'retry') {
    const retried = await sendLostPosts(deps, step);
    retried.forEach(deps.syncPost);
    const look = await lookOf(deps, ctx);
    const left = await countLostPosts(deps, step);
    showPage(ctx, 200, retriedPage(retried.length, left, formOn(look, step)), look);
  } else {
    throw new Problem('invalid', 'Press one of the buttons of this page.');
  }
}

export async function goOn(deps: ApiDeps, ctx: RouterContext, token: string): Promise<void> {
  const link = await findLink(deps.orm, token, deps.now());
  const { connectedId } = link;
  const back = connectedId === null ? null : returnAddress(link, { connected: connectedId });
  ctx.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' });
  ctx.redirect(back ?? `${basePath(deps.publicUrl)}/connect/${token}`);
  ctx.status = 303;
}

function returnAddress(
  { returnUrl }: ConnectLink,
  given: Readonly<Record<string, string>>,
): string | null {
  if (returnUrl === null) {
    return null;
  }

  const url = new URL(returnUrl);
  url.searchParams.delete('connected');
  url.searchParams.delete('error');
  for (const [name, value] of Object.entries(given)) {
    url.searchParams.set(name, value);
  }

  return url.href;
}
