import test from 'ava';
import { fileName, nameInUrl } from '../../../api/media/file-name.ts';

const cleaned: Readonly<Record<string, readonly [string | undefined, string]>> = {
  'stays as it is when it is harmless': ['Our harbour (2).PNG', 'Our harbour (2).PNG'],
  'loses the folders before it': ['/etc/passwd', 'passwd'],
  'loses the folders of Windows': [String.raw`C:\Users\me\cat.png`, 'cat.png'],
  'loses control characters': ['a\u0000b\r\nc\u007f.png', 'abc.png'],
  'loses marks that turn its direction': ['cat\u202egnp.exe', 'catgnp.exe'],
  'keeps emoji that are made of several signs': ['👩‍👩‍👧.png', '👩‍👩‍👧.png'],
  'is composed, as most programs type it': ['a\u0308.png', 'ä.png'],
  'has no half of a surrogate pair': ['a\ud800.png', 'a\ufffd.png'],
  'has no space around it': ['  cat.png ', 'cat.png'],
  'that is empty is made up from the type': ['', 'file.jpg'],
  'that is missing is made up from the type': [undefined, 'file.jpg'],
  'of dots alone is made up from the type': ['..', 'file.jpg'],
  'that was all folders is made up from the type': ['a/b/', 'file.jpg'],
  'that is too long keeps its ending': [`${'a'.repeat(300)}.jpeg`, `${'a'.repeat(250)}.jpeg`],
  'that is too long and has no ending is cut': ['b'.repeat(300), 'b'.repeat(255)],
  'that is too long is not cut within a character': [`${'a'.repeat(254)}😀`, 'a'.repeat(254)],
};
for (const [what, [given, expected]] of Object.entries(cleaned)) {
  test(`a name ${what}`, (t) => {
    t.is(fileName(given, 'image/jpeg'), expected);
  });
}

const inUrls = {
  'https://example.com/a/cat.png?size=2#top': 'cat.png',
  'https://example.com/our%20cat%2Fdog.png': 'our cat/dog.png',
  'https://example.com/%ff.png': '%ff.png',
  'https://example.com/': '',
  'https://example.com': '',
};
for (const [url, expected] of Object.entries(inUrls)) {
  test(`the name in ${url} is "${expected}"`, (t) => {
    t.is(nameInUrl(url), expected);
  });
}
