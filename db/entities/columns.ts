import { p } from '@mikro-orm/core';
import { newId } from '../new-id.ts';

export const id = () => p.uuid().primary().onCreate(newId);

/** An instant in UTC with milliseconds, which is all that a JavaScript `Date` and the API carry. */
export const instant = () => p.datetime(3);

export const createdAt = () => instant().onCreate(() => new Date());

export const updatedAt = () =>
  instant()
    .onCreate(() => new Date())
    .onUpdate(() => new Date());
