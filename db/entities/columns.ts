import { p } from '@mikro-orm/core';
import { newId } from '../new-id.ts';

export const id = () => p.uuid().primary().onCreate(newId);

/** A time in UTC with milliseconds, the precision of JavaScript's `Date` and of the API. */
export const instant = () => p.datetime(3);

export const jsonOrNull = <T>() =>
  p
    .json<T | null>()
    .nullable()
    .onCreate(() => null);

export const createdAt = () => instant().onCreate(() => new Date());

export const updatedAt = () =>
  instant()
    .onCreate(() => new Date())
    .onUpdate(() => new Date());
