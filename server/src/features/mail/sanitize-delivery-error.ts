const maxLength = 500

/** One line of at most 500 characters, without URLs and tokens: mail servers quote emails in errors. */
export function sanitizeDeliveryError(reason: string): string {
  const line = reason
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .replaceAll(/\S*:\/\/\S*/g, '[link]')
    .replaceAll(/[\w-]{32,}/g, '[…]')
    .trim()
  const characters = Array.from(line)
  return characters.length <= maxLength ? line : `${characters.slice(0, maxLength - 1).join('')}…`
}
