import { expect, test } from 'vitest'
import { formatMail, quoteName } from './format-mail.ts'

const url = 'https://berth.example.com/reset-password?token=abc&x=1'

test('the link is unbroken on its own line in the text and escaped in the HTML', () => {
  const { text, html } = formatMail({
    subject: 'Subject',
    paragraphs: ['Hello.'],
    action: { label: 'Open', url },
    notes: ['Bye.'],
  })
  expect(text).toBe(`Hello.\n\n${url}\n\nBye.\n\nBerth\n`)
  expect(html).toContain('href="https://berth.example.com/reset-password?token=abc&amp;x=1"')
  expect(html).toContain('>Open</a>')
})

test('user input cannot add a tag, a line or a header', () => {
  const hostile = `<img src=x onerror="alert('1')">\r\nBcc: eve@example.com\n\nPay here\u2028\u202egnp`
  const { subject, text, html } = formatMail({
    subject: `Join ${hostile}`,
    paragraphs: [hostile],
    action: { label: hostile, url },
    notes: [hostile],
  })
  expect(subject).toBe(`Join <img src=x onerror="alert('1')"> Bcc: eve@example.com Pay here gnp`)
  expect(text).not.toMatch(/^(Bcc|Pay)/m)
  expect(html).not.toContain('<img')
  expect(html).toContain(
    '&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt; Bcc: eve@example.com Pay here gnp',
  )
  expect(text + html).not.toContain('\u202e')
})

test('paragraphs wrap between words at 76 characters, and longer words stay whole', () => {
  const word = 'x'.repeat(100)
  const { text } = formatMail({ subject: 's', paragraphs: [`${'seven '.repeat(30)}${word} end`] })
  const lines = text.split('\n')
  expect(lines).toContain(word)
  for (const line of lines.filter((line) => line !== word)) expect(line.length).toBeLessThanOrEqual(76)
})

test('a quoted name is short and carries no link', () => {
  expect(quoteName('St. Mary’s Hospital & Co.')).toBe('St. Mary’s Hospital & Co.')
  expect(quoteName('Win at https://evil.example/prize now')).toBe('Win at https evil example prize now')
  expect(quoteName('www.evil.example')).toBe('www evil example')
  expect(quoteName('evil。example evil．example me@evil.example')).toBe(
    'evil example evil example me evil example',
  )
  expect(Array.from(quoteName('😀'.repeat(300)))).toHaveLength(60)
})
