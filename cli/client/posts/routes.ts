import { buildRouteMap } from '@stricli/core';
import { cancel, copy, remove, retry, settle, unpublish } from './lifecycle.ts';
import { list, show } from './read.ts';
import { create, edit } from './write.ts';

export const post = buildRouteMap({
  routes: { create, list, show, edit, cancel, retry, settle, copy, unpublish, delete: remove },
  docs: { brief: 'Creates, lists and changes posts' },
});
