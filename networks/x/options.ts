import { answerReader } from '../answer.ts';
import type { Options, OptionsSchema } from '../content-rules.ts';
import type { CreatePost } from './wire.ts';

/** Named as X names them. Source: https://docs.x.com/x-api/posts/create-post */
export const optionsSchema: OptionsSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    made_with_ai: {
      type: 'boolean',
      description: 'Labels every post of the thread as one with media that were made by AI.',
    },
    paid_partnership: {
      type: 'boolean',
      description: 'Labels every post of the thread as a paid partnership: as advertising.',
    },
  },
};

type XOptions = Pick<CreatePost, 'made_with_ai' | 'paid_partnership'>;

const readOptions = answerReader<XOptions>(optionsSchema);

/** The fields of a request that say so; none for what was not chosen. */
export function optionFields(options: Options): XOptions {
  const { made_with_ai: isMadeWithAi, paid_partnership: isPaid } = readOptions(options) ?? {};
  return {
    ...(isMadeWithAi && { made_with_ai: true }),
    ...(isPaid && { paid_partnership: true }),
  };
}
