import escapeHtml from 'escape-html'

/** An email as plain text and as HTML. */
export interface MailText {
  subject: string
  text: string
  html: string
}

const lineLength = 76

/** Lays out an email. The fields may contain user input, so each becomes one escaped line. */
export function formatMail(mail: {
  subject: string
  paragraphs: string[]
  action?: { label: string; url: string } | undefined
  notes?: string[] | undefined
}): MailText {
  const paragraphs = mail.paragraphs.map(oneLine)
  const notes = (mail.notes ?? []).map(oneLine)
  const link = mail.action === undefined ? [] : [mail.action.url]
  return {
    subject: oneLine(mail.subject),
    text: `${[...paragraphs.map(wrap), ...link, ...notes.map(wrap), 'Berth'].join('\n\n')}\n`,
    html: [
      '<!doctype html>',
      '<html lang="en"><head><meta charset="utf-8"></head>',
      '<body style="margin:0;padding:24px;font:16px/1.5 sans-serif;color:#1a1a1a;background:#ffffff">',
      '<div style="max-width:560px;margin:0 auto">',
      ...paragraphs.map((paragraph) => `<p style="margin:0 0 16px">${escapeHtml(paragraph)}</p>`),
      ...(mail.action === undefined ? [] : [button(oneLine(mail.action.label), mail.action.url)]),
      ...notes.map((note) => `<p style="margin:0 0 16px;color:#595959">${escapeHtml(note)}</p>`),
      '<p style="margin:0;color:#595959">Berth</p>',
      '</div></body></html>',
      '',
    ].join('\n'),
  }
}

const nameLength = 60

/** Shortens a user's name in an email and replaces what makes links: a dot in a word, `@/\\` and a colon. */
export function quoteName(name: string): string {
  const plain = oneLine(name.normalize('NFKC'))
    .replaceAll(/[.\u3002\uff61](?=\S)/g, ' ')
    .replaceAll(/[@/\\:]+/g, ' ')
  const characters = Array.from(oneLine(plain))
  return characters.length <= nameLength
    ? characters.join('')
    : `${characters.slice(0, nameLength - 1).join('')}…`
}

function button(label: string, url: string): string {
  const href = escapeHtml(url)
  const style =
    'display:inline-block;padding:10px 18px;border-radius:6px;background:#1a1a1a;color:#ffffff;text-decoration:none'
  return [
    `<p style="margin:0 0 16px"><a href="${href}" style="${style}">${escapeHtml(label)}</a></p>`,
    `<p style="margin:0 0 16px;color:#595959">If the button doesn’t work, open this link:<br>${href}</p>`,
  ].join('\n')
}

/** Replaces line breaks and control characters by spaces, and removes marks of the reading direction. */
function oneLine(text: string): string {
  return text
    .replaceAll(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '')
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
}

function wrap(paragraph: string): string {
  const lines: string[] = []
  for (const word of paragraph.split(' ')) {
    const line = lines.at(-1)
    if (line === undefined || line.length + 1 + word.length > lineLength) lines.push(word)
    else lines[lines.length - 1] = `${line} ${word}`
  }
  return lines.join('\n')
}
