import type { PreparedPart, PublishStep } from './network.ts';

export function onlyPart({ parts }: PublishStep): PreparedPart {
  const [part, ...more] = parts;
  if (!part || more.length > 0) {
    throw new Error(`A step of a sequential network has one part, not ${parts.length}.`);
  }

  return part;
}
