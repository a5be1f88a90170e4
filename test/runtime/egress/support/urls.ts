/**
 * Destinations that a user may not set, as typed. The numbers come from our research note on server-side request
 * forgery; some product once accepted each of these forms.
 */
export const refusedUrls: Readonly<Record<string, readonly string[]>> = {
  R01: ['http://example.com/h'],
  R02: ['ftp://example.com/'],
  R03: ['file:///etc/passwd'],
  R04: ['gopher://127.0.0.1:6379/_'],
  R05: ['data:text/plain,x'],
  R06: ['//example.com/', 'example.com/h', '', 'https:', 'https://', 'https:///example.com/'],
  R07: ['https://127.0.0.1/'],
  R08: ['https://127.255.255.254/'],
  R09: ['https://127.1/', 'https://127.0.1/'],
  R10: ['https://2130706433/'],
  R11: ['https://0x7f000001/', 'https://0x7f.0.0.1/'],
  R12: ['https://0177.0.0.1/', 'https://017700000001/'],
  R13: ['https://127.0.0.1./'],
  R14: ['https://0/', 'https://0.0.0.0/'],
  R15: ['https://10.0.0.1/'],
  R16: ['https://172.16.0.1/', 'https://172.31.255.255/'],
  R17: ['https://192.168.1.1/'],
  R18: ['https://169.254.169.254/latest/'],
  R19: ['https://2852039166/'],
  R20: ['https://169.254.170.2/'],
  R21: ['https://168.63.129.16/'],
  R22: ['https://100.100.100.200/'],
  R23: ['https://192.0.0.192/', 'https://100.64.0.1/'],
  R24: ['https://198.18.0.1/', 'https://192.88.99.1/'],
  R25: ['https://192.0.2.1/', 'https://198.51.100.1/', 'https://203.0.113.1/'],
  R26: ['https://224.0.0.1/', 'https://240.0.0.1/', 'https://255.255.255.255/'],
  R27: ['https://[::1]/', 'https://[::]/', 'https://[::ffff:127.0.0.1]/'],
  R28: ['https://[::127.0.0.1]/', 'https://[::ffff:0:7f00:1]/'],
  R29: ['https://[64:ff9b::a9fe:a9fe]/'],
  R30: ['https://[64:ff9b:1::a00:1]/'],
  R31: ['https://[2002:7f00:1::]/'],
  R32: ['https://[2002:a9fe:a9fe::1]/'],
  R33: ['https://[2001:0:a9fe:a9fe::]/'],
  R34: ['https://[fc00::1]/', 'https://[fd12:3456::1]/'],
  R35: ['https://[fd00:ec2::254]/'],
  R36: ['https://[fd20:ce::254]/'],
  R37: ['https://[fe80::1]/', 'https://[febf::1]/'],
  R38: ['https://[fe80::1%25eth0]/', 'https://[::1%25lo]/'],
  R39: ['https://[fec0::1]/'],
  R40: ['https://[ff02::1]/'],
  R41: ['https://[100::1]/', 'https://[100:0:0:1::1]/'],
  R42: ['https://[2001:db8::1]/', 'https://[3fff::1]/'],
  R43: ['https://[5f00::1]/', 'https://[4000::1]/', 'https://[1::1]/'],
  R44: ['https://localhost/', 'https://LOCALHOST/', 'https://foo.localhost/'],
  R45: ['https://localhost./'],
  R46: ['https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/'],
  R47: ['https://\uff11\uff12\uff17.\uff10.\uff10.\uff11/', 'https://127\u30020\u30020\u30021/'],
  R48: ['https://%31%32%37.0.0.1/'],
  R49: ['https://user:pass@example.com/', 'https://user@example.com/'],
  R50: ['https://example.com@127.0.0.1/'],
  R51: [
    'https://example.com:22/',
    'https://example.com:0/',
    'https://example.com:65536/',
    'https://example.com:6379/',
  ],
  R52: ['https://metadata/', 'https://postgres/'],
  R53: [
    'https://metadata.google.internal/',
    'https://x.svc.cluster.local/',
    'https://printer.local/',
  ],
  R54: ['https://[127.0.0.1]/', 'https://::1/', 'https://256.256.256.256/'],
  R55: [
    'https://example.com\\@127.0.0.1/',
    'https://exa\tmple.com/',
    'https://example.com/\n',
    ' https://example.com/',
  ],
  // Not from the note: names that DNS cannot have, and lengths.
  names: [
    'https://a..example.com/',
    'https://example.com../',
    'https://.example.com/',
    "https://exa'mple.com/",
    `https://${'a'.repeat(64)}.com/`,
    `https://${'a.'.repeat(127)}com/`,
  ],
  length: [`https://example.com/${'a'.repeat(2048)}`],
  // The https scheme alone does not make a privileged port acceptable.
  ports: [
    'https://example.com:80/',
    'https://example.com:25/',
    'https://example.com:1023/',
    'https://example.com:6667/',
  ],
};

/** Destinations that must be accepted. Their addresses and names belong to others, but the tests never dial them. */
export const acceptedUrls: Readonly<Record<string, readonly string[]>> = {
  A01: ['https://example.com/hook'],
  A02: ['https://example.com:443/h?x=1'],
  A03: ['HTTPS://EXAMPLE.com/Hook'],
  A04: ['https://example.com./hook'],
  A05: ['https://a.b.c.example.co.uk/x'],
  A06: ['https://xn--bcher-kva.example.com/', 'https://bücher.example.com/'],
  A07: ['https://127.0.0.1.example.com/', 'https://0x7f000001.example.com/'],
  A08: ['https://93.184.216.34/', 'https://1572395042/'],
  A09: ['https://[2606:4700:4700::1111]/hook'],
  A10: ['https://[2001:4860:4860::8888]/h'],
  A11: ['https://100.63.255.255/', 'https://100.128.0.0/'],
  A12: ['https://172.15.255.255/', 'https://172.32.0.1/'],
  A13: ['https://169.253.255.255/', 'https://169.255.0.0/'],
  A14: ['https://198.17.255.255/', 'https://198.20.0.0/'],
  A15: ['https://168.63.129.15/', 'https://168.63.129.17/'],
  A16: ['https://223.255.255.255/', 'https://9.255.255.255/', 'https://11.0.0.0/'],
  A17: [
    'https://foo_bar.example.com/h',
    `https://example.com/${'a'.repeat(2000)}`,
    'https://example.com/%2e%2e/%00',
    'https://example.com/grüße/🎉#part',
  ],
  ports: ['https://example.com:8443/', 'https://example.com:1024/', 'https://example.com:65535/'],
};

/** DNS answers for `hook.example.com` that must be refused, at once or at the connection. */
export const privateAnswers: Readonly<Record<string, readonly string[]>> = {
  R60: ['127.0.0.1'],
  R61: ['10.0.0.5'],
  R62: ['8.8.8.8', '127.0.0.1'],
  R63: ['8.8.8.8', '::1'],
  R64: ['::ffff:10.0.0.1'],
  R65: ['::7f00:1'],
  R66: ['64:ff9b::7f00:1'],
  R67: ['168.63.129.16'],
};

/** The public URL of a test's service. */
export const ownUrl = 'https://punctual.example.com';

/** R56: the service itself. */
export const ownUrls: readonly string[] = [
  'https://punctual.example.com/hook',
  'https://PUNCTUAL.Example.com./api/v1/posts',
  'https://punctual.example.com:443/',
  'https://punctual.example.com:8443/',
  'https://%70unctual.example.com/',
];

/** Hosts whose names resemble the service's own. */
export const otherUrls: readonly string[] = [
  'https://hooks.punctual.example.com/',
  'https://example.com/punctual.example.com',
  'https://punctual.example.com.example.net/',
  'https://xpunctual.example.com/',
];

/** The stored and shown form of typed URLs. */
export const normalForms: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  A02: { 'https://example.com:443/h?x=1': 'https://example.com/h?x=1' },
  A03: { 'HTTPS://EXAMPLE.com/Hook': 'https://example.com/Hook' },
  A04: { 'https://example.com./hook': 'https://example.com/hook' },
  A06: { 'https://bücher.example.com/': 'https://xn--bcher-kva.example.com/' },
  A08: { 'https://1572395042/': 'https://93.184.216.34/' },
  A09: { 'https://[2606:4700:4700:0:0::1111]/hook': 'https://[2606:4700:4700::1111]/hook' },
  A17: {
    'https://example.com/%2e%2e/%00': 'https://example.com/%2e%2e/%00',
    'https://example.com/a/../B//c?Q=%7e~&r=[]|': 'https://example.com/a/../B//c?Q=%7e~&r=[]|',
    'https://example.com/grüße/🎉#part': 'https://example.com/grüße/🎉',
  },
  ports: {
    'https://Example.com.:8443/h': 'https://example.com:8443/h',
    'https://example.com:0443/h': 'https://example.com/h',
    'https://[2606:4700:4700::1111]:8443/': 'https://[2606:4700:4700::1111]:8443/',
  },
  bare: {
    'https://EXAMPLE.com': 'https://example.com',
    'https://EXAMPLE.com?A=1#b?c': 'https://example.com?A=1',
    'https://example.com#https://other.example.com/': 'https://example.com',
  },
};
