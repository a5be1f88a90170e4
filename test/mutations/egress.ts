import { mutationsOf, type Mutation } from './mutation.ts';

const egress = ['test/runtime/egress'];

/** The way out: where requests may go, how far they follow, how much and how long they take. */
export const egressMutations: readonly Mutation[] = [
  ...mutationsOf('runtime/egress/target-policy.ts', egress, [
    [
      'the metadata of clouds is public',
      "  '169.254.0.0/16', // link-local, the metadata of most clouds\n",
      '',
    ],
    ['a part of the carriers’ private network is public', "'100.64.0.0/10'", "'100.64.0.0/11'"],
  ]),
  ...mutationsOf('runtime/egress/operator-lists.ts', egress, [
    ['an allowed address is open at every port', 'entry.port === port && isInRange', 'isInRange'],
  ]),
  ...mutationsOf('runtime/egress/target-policy.ts', egress, [
    ['requests go to port 80 of public hosts', 'port < 1024 ||', 'port < 80 ||'],
  ]),
  ...mutationsOf('runtime/egress/target-policy.ts', egress, [
    [
      'a name that leads to a private address is public',
      'isPublicAddress(reached) ? null',
      'isPublicAddress(reached) || !target.address ? null',
    ],
    [
      'what a translator makes of an address is not looked at',
      'const reached = behindNat64(address, nat64);',
      'const reached = nat64 && address;',
    ],
  ]),
  ...mutationsOf('runtime/egress/find-addresses.ts', egress, [
    [
      'of a name with public and private addresses the first decides',
      'const problem = addresses.map',
      'const problem = addresses.slice(0, 1).map',
    ],
  ]),
  ...mutationsOf('runtime/egress/connector.ts', egress, [
    [
      'the address behind a connected socket is not looked at',
      'const refusal = addressProblem(target, remote, guard);',
      'const refusal = null as string | null;',
    ],
  ]),
  ...mutationsOf('runtime/egress/dial-first.ts', egress, [
    [
      'a connection that another address was faster than stays open',
      'if (socket !== outcome) {',
      'if (socket === outcome) {',
    ],
  ]),
  ...mutationsOf('runtime/egress/target.ts', egress, [
    [
      'the service’s own host is known at its own port only',
      'own.target.host === target.host',
      'own.target.host === target.host && own.target.port === target.port',
    ],
  ]),
  ...mutationsOf('runtime/egress/target.ts', egress, [
    [
      'a URL with a user name is taken',
      "url.username !== '' || url.password !== ''",
      "url.password !== ''",
    ],
  ]),
  ...mutationsOf('runtime/egress/download.ts', egress, [
    [
      'one redirect more than allowed is followed',
      'redirects >= maxRedirects',
      'redirects > maxRedirects',
    ],
    [
      'a file that announces more than the limit is begun',
      "Number(answer.headers['content-length']) > maxBytes",
      "Number(answer.headers['content-length']) > 2 * maxBytes",
    ],
  ]),
  ...mutationsOf('runtime/egress/streamed-answer.ts', egress, [
    [
      'a body may be as long as it likes',
      'this.#length > this.#limits.maxBytes',
      'this.#length > Infinity',
    ],
  ]),
  ...mutationsOf('runtime/egress/send-request.ts', egress, [
    [
      'an answer keeps one byte too few',
      'chunk.subarray(0, maxBytes - body.length)',
      'chunk.subarray(0, maxBytes - body.length - 1)',
    ],
    ['an answer in chunks of a byte is read to its end', ' && !body.isFragmented', ''],
  ]),
  ...mutationsOf('runtime/egress/send-request.ts', egress, [
    [
      'a request that was given up while it connected was maybe sent',
      'const maybeSent = controller !== undefined;',
      'const maybeSent = true;',
    ],
  ]),
  ...mutationsOf('runtime/egress/egress-error.ts', egress, [
    [
      'a bad certificate is a broken connection',
      "(isTls ? 'tls_error' : 'connection_reset')",
      "'connection_reset'",
    ],
  ]),
  ...mutationsOf('runtime/keyed-semaphore.ts', egress, [
    ['one too many is let in', 'slots.taken < limit', 'slots.taken <= limit'],
  ]),
  ...mutationsOf(
    'runtime/config/egress-allow.ts',
    ['test/runtime/*'],
    [
      [
        'a list opens holes in production without a word',
        "given !== '' && isProduction && !isMeant",
        "given !== '' && isProduction && isMeant",
      ],
    ],
  ),
];
