import type { Config } from '../config.ts'

/** What is allowed but not what an operator can mean, one sentence for each, with the variable and the remedy. */
export function warningsOf({ role, publicUrl, trustProxy, mail }: Config): string[] {
  // Berth speaks no TLS: at an https address others reach it, through a proxy.
  if (publicUrl.protocol !== 'https:') return []
  const warnings: string[] = []
  if ((role === 'all' || role === 'api') && trustProxy === false) {
    warnings.push(
      'TRUST_PROXY is not set: behind the proxy of PUBLIC_URL everybody has its address, and 100 failed sign-ins of anybody ' +
        'lock all people out for up to 15 minutes; set it to the address or the network of the proxy',
    )
  }
  if ((role === 'all' || role === 'worker') && mail.url === null) {
    warnings.push(
      'MAIL_URL is not set: invitations and links for a new password are written to files under DATA_DIR and reach nobody; ' +
        'set it to a mail server',
    )
  }
  return warnings
}
