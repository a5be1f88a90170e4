import { Router } from '@koa/router';
import { serveFile, staticFile } from '../docs/static-file.ts';
import type { Route } from '../http/route.ts';
import { createDocument } from './create-document.ts';
import { openAnswers } from './open-answers.ts';

/** The document of these calls, for programs. It needs no key: it says nothing of any workspace. */
export function openapiRouter(routes: readonly Route[]): Router {
  const text = `${JSON.stringify(openAnswers(createDocument(routes)))}\n`;
  const file = staticFile('application/json; charset=utf-8', Buffer.from(text));
  return new Router().get('/openapi.json', (ctx) => serveFile(ctx, file));
}
