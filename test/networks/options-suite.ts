import type { TestFn } from 'ava';
import { parser } from '../../runtime/parser.ts';
import { textWithPictures, type Bench } from './bench.ts';
import { openConnection } from './connection.ts';
import { pictureFile } from './files.ts';
import { partsWith, publish } from './publish.ts';

/** The part of the common suite about alt texts and an owner's options. */
export function keepsChoices(testIt: TestFn, bench: Bench): void {
  publishesAltTexts(testIt, bench);
  publishesOptions(testIt, bench);
}

function publishesAltTexts(testIt: TestFn, { network, makeAccount, shape }: Bench): void {
  if (shape?.needsFile) {
    return; // Posts have no images there.
  }

  testIt('images have their alt texts, and one without has none', async (t) => {
    const { account, posts, altTextsOf } = await makeAccount(t);
    const altText = 'A "red" fox\r\nand — 👩‍👩‍👧‍👦 beside it; filename="x"';
    const files = [
      { ...(await pictureFile('a.png')), altText },
      await pictureFile('b.png'),
      { ...(await pictureFile('c.png')), altText: 'Third' },
    ];
    const { sent } = await publish(network, openConnection(t, account), partsWith(files, 'Three'));

    t.is((await posts()).length, 1);
    const live = await altTextsOf(sent[0]?.remoteId ?? '');
    t.deepEqual(
      live.map((text) => text.replaceAll(/\s+/gv, ' ')),
      [altText.replaceAll(/\s+/gv, ' '), '', 'Third'],
    );
  });
}

function publishesOptions(testIt: TestFn, bench: Bench): void {
  const { network, makeAccount, options, shape = textWithPictures } = bench;
  testIt('options are accepted only as their schema says', (t) => {
    const read = parser(network.rules.options);
    t.notThrows(() => read({}));
    for (const { chosen } of options) {
      t.notThrows(() => read(chosen), JSON.stringify(chosen));
    }
    t.throws(() => read({ no_such_option: true }), { message: /no_such_option/v });
  });

  testIt('each option has a description, and a case in this suite', (t) => {
    const { properties } = network.rules.options;
    for (const [name, schema] of Object.entries(properties)) {
      t.regex(String(Object(schema)['description']), /^[A-Z].+\.$/v, name);
    }
    t.deepEqual(
      [...new Set(options.flatMap(({ chosen }) => Object.keys(chosen)))].toSorted(),
      Object.keys(properties).toSorted(),
    );
  });

  // A reply has no options of its own if the network has no threads.
  const texts = network.rules.threads ? ['Chosen', 'And on'] : ['Chosen'];
  for (const { chosen, shown, optionFiles = {} } of options) {
    testIt(`a post is live with ${JSON.stringify(chosen)}, every part of it`, async (t) => {
      const { account, choicesOf } = await makeAccount(t);
      const files = (await shape.makeFiles()).slice(0, 1);
      const parts = (await shape.parts(texts, files)).map((part) =>
        Object.assign(part, { options: { ...part.options, ...chosen }, optionFiles }),
      );
      const media = parts.map((part) => part.media);
      const content = { texts, media, video: null, options: parts[0]?.options ?? {} };
      t.deepEqual(network.rules.validate(content, account.settings).errors, []);
      const { sent } = await publish(network, openConnection(t, account), parts);

      for (const { remoteId } of sent) {
        t.like(await choicesOf(remoteId), shown);
      }
    });
  }
}
