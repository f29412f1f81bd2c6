const longest = 500

/**
 * The reason of a failed delivery, fit to be kept and shown: one line of at most 500 characters. Mail servers quote what they
 * dislike, so every address of a page and every run of letters that could be the secret of a link is left out.
 */
export function sanitizeDeliveryError(reason: string): string {
  const line = reason
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .replaceAll(/\S*:\/\/\S*/g, '[link]')
    .replaceAll(/[\w-]{32,}/g, '[…]')
    .trim()
  const characters = Array.from(line)
  return characters.length <= longest ? line : `${characters.slice(0, longest - 1).join('')}…`
}
