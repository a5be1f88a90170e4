/** A browser as far as sign-in pages need one: it keeps cookies, and hands back where a page leads. */
export function startBrowser() {
  const cookies = new Map<string, string>();
  const browse = async (url: string, init: RequestInit = {}) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { redirect: 'manual', ...init, headers: { cookie } });
    for (const set of response.headers.getSetCookie()) {
      const { name = '', value = '' } = /^(?<name>[^=]+)=(?<value>[^;]*)/v.exec(set)?.groups ?? {};
      cookies.set(name, value);
    }
    const location = response.headers.get('location');
    return {
      status: response.status,
      html: await response.text(),
      location: location === null ? null : new URL(location, url).href,
    };
  };
  return {
    get: (url: string) => browse(url),
    post: (url: string, form: Record<string, string>) =>
      browse(url, { method: 'POST', body: new URLSearchParams(form) }),
  };
}
