import type { Config } from './config.ts'

/** Returns a sentence for each valid but probably unintended setting, with its name and a remedy. */
export function listWarnings(config: Config): string[] {
  const { role, publicUrl, trustProxy, mail, billing, registration, requiresEmailVerification } = config
  // Berth does not terminate TLS, so an https address means a proxy in front.
  if (publicUrl.protocol !== 'https:') return []
  const warnings: string[] = []
  if ((role === 'all' || role === 'api') && trustProxy === false) {
    warnings.push(
      'TRUST_PROXY is not set: all requests seem to come from the proxy in front of PUBLIC_URL, so 100 failed sign-ins by ' +
        'anyone lock everyone out for up to 15 minutes. Set it to the address or network of the proxy.',
    )
  }
  if ((role === 'all' || role === 'worker') && mail.url === null) {
    warnings.push(
      'MAIL_URL is not set: invitations and password reset links are written to files in DATA_DIR instead of being sent. ' +
        'Set it to a mail server.',
    )
  }
  const serves = role === 'all' || role === 'api'
  if (serves && billing.stripe === null && registration.mode === 'open') {
    warnings.push(
      'BILLING_PROCESSOR is sandbox: no card is ever charged, and anyone who activates billing with a test card uses compute for ' +
        'free. Set it to stripe, or restrict REGISTRATION to people you know.',
    )
  }
  if (serves && registration.mode !== 'invited' && !requiresEmailVerification) {
    const invented =
      registration.mode === 'domains' ? 'an invented email of its domains' : 'an invented email'
    warnings.push(
      `REGISTRATION is ${registration.mode} but no email has to be verified: anyone can register with ${invented}, ` +
        'and deploy and invite. Set MAIL_URL and EMAIL_CONFIRMATION=required, unless only people you know reach this server.',
    )
  }
  return warnings
}
