import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { parseAddress } from '../../../../runtime/egress/addresses.ts';

/**
 * Node cannot create certificates and a machine may lack openssl, so the tests encode the few X.509 fields themselves.
 */
export type Certificate = { readonly cert: string; readonly key: string };

type Issuer = { readonly name: string; readonly privateKey: KeyObject };

const der = (tag: number, ...parts: Uint8Array[]): Buffer => {
  const body = Buffer.concat(parts);
  const size = body.length;
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
};
const sequence = (...parts: Uint8Array[]) => der(0x30, ...parts);
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));
const bitString = (content: Uint8Array) => der(0x03, Buffer.from([0]), content);
const yes = der(0x01, Buffer.from([0xff]));

const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'));
const nameOf = (text: string) =>
  sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(text)))));
const time = (atMs: number) =>
  der(0x18, Buffer.from(`${new Date(atMs).toISOString().replaceAll(/[^\d]/gv, '').slice(0, 14)}Z`));

const authority = sequence(oid('551d13'), yes, der(0x04, sequence(yes)));
const alternativeNames = (hosts: readonly string[]) =>
  sequence(oid('551d11'), der(0x04, sequence(...hosts.map(generalName))));

function generalName(host: string): Buffer {
  const address = parseAddress(host);
  return address
    ? der(0x87, Buffer.from(address.parsed.toByteArray()))
    : der(0x82, Buffer.from(host));
}

function issue(
  subject: string,
  extensions: Buffer,
  options: { issuer?: Issuer; fromMs?: number; untilMs?: number },
): Certificate & Issuer {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const issuer = options.issuer ?? { name: subject, privateKey };
  const hourMs = 3_600_000;
  const content = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1, ...crypto.getRandomValues(new Uint8Array(8))])),
    ecdsaWithSha256,
    nameOf(issuer.name),
    sequence(
      time(options.fromMs ?? Date.now() - hourMs),
      time(options.untilMs ?? Date.now() + hourMs),
    ),
    nameOf(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(extensions)),
  );
  const signature = bitString(sign('sha256', content, issuer.privateKey));
  const base64 = sequence(content, ecdsaWithSha256, signature).toString('base64');
  return {
    name: subject,
    privateKey,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${base64.replaceAll(/.{1,64}/gv, '$&\n')}-----END CERTIFICATE-----\n`,
  };
}

/** A certificate authority for one test, and its certificates for names and addresses. */
export function createAuthority() {
  const ca = issue('Test authority', authority, {});
  return {
    ca: ca.cert,
    issueFor: (hosts: readonly string[], options: { fromMs?: number; untilMs?: number } = {}) =>
      issue(hosts[0] ?? 'nobody', alternativeNames(hosts), { ...options, issuer: ca }),
  };
}

/** A self-signed certificate. */
export const selfSigned = (host: string): Certificate => issue(host, alternativeNames([host]), {});
