import { publishWindowMs } from '../../domain/next-try.ts';
import type { ActivityDeps } from '../deps.ts';
import type { PublishTarget } from './target.ts';

/** When the channel's day ends, in milliseconds since 1970: nothing is sent to it after that. */
export const dayEndMs = ({ dueAt }: PublishTarget): number => dueAt.getTime() + publishWindowMs;

export const isDayOver = (deps: ActivityDeps, target: PublishTarget): boolean =>
  deps.now().getTime() > dayEndMs(target);
