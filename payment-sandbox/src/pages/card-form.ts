import { createCard } from '../cards.ts'
import type { PaymentMethod } from '../object-types.ts'
import type { Change } from '../store.ts'
import { findCardByNumber, isPlausibleNumber, testCards } from '../test-cards.ts'
import type { TestCard } from '../test-cards.ts'
import { Html, html } from './html.ts'

type Field = 'number' | 'expiry' | 'cvc' | 'name'
export type CardFields = Record<Field, string>
export type CardProblems = Partial<Record<Field, string>>

export interface EnteredCard {
  card: TestCard
  expMonth: number
  expYear: number
}

export function readCardFields(form: Record<string, string>): CardFields {
  const read = (field: Field) => (form[field] ?? '').trim().slice(0, 255)
  return { number: read('number'), expiry: read('expiry'), cvc: read('cvc'), name: read('name') }
}

/** The card, or each field's problem. Only test cards are accepted, so a real card is never stored. */
export function parseCard(fields: CardFields, now: Date): EnteredCard | CardProblems {
  const problems: CardProblems = {}
  const number = fields.number.replaceAll(/[\s-]/g, '')
  const card = findCardByNumber(number)
  if (!isPlausibleNumber(number)) problems.number = 'Enter a valid card number.'
  else if (card === null)
    problems.number = 'This is a sandbox. Enter one of the test cards below, never a real card.'
  const [, month = '', year = ''] = /^(\d{1,2})\s*\/?\s*(\d{2}|\d{4})$/.exec(fields.expiry) ?? []
  const expMonth = Number(month)
  const expYear = year.length === 2 ? 2000 + Number(year) : Number(year)
  if (month === '' || expMonth < 1 || expMonth > 12)
    problems.expiry = 'Enter month and year, such as 12 / 30.'
  else if (Date.UTC(expYear, expMonth, 1) <= now.getTime()) problems.expiry = 'The card has expired.'
  else if (expYear > now.getUTCFullYear() + 50) problems.expiry = 'Enter a year within the next 50 years.'
  if (!/^\d{3,4}$/.test(fields.cvc)) problems.cvc = 'Enter the 3 or 4 digits.'
  if (fields.name === '') problems.name = 'Enter the name on the card.'
  if (card === null || Object.keys(problems).length > 0) return problems
  return { card, expMonth, expYear }
}

export function isEnteredCard(result: EnteredCard | CardProblems): result is EnteredCard {
  return 'card' in result
}

/** Stores a card entered on the page of a checkout session or invoice, not attached to a customer. */
export function createEnteredCard(
  change: Change,
  entered: EnteredCard,
  pageId: string,
): Promise<PaymentMethod> {
  return createCard(change, entered.card, entered, { entered_for: pageId })
}

export function wasEnteredOn({ customer, metadata }: PaymentMethod, pageId: string): boolean {
  return customer === null && metadata.entered_for === pageId
}

/** Fields filled in with the test card that ends in `last4`. */
export function prefill(last4: string | undefined, now: Date): CardFields {
  const card = testCards.find(({ number }) => number.endsWith(last4 ?? '-'))
  if (card === undefined) return { number: '', expiry: '', cvc: '', name: '' }
  const year = String((now.getUTCFullYear() + 3) % 100).padStart(2, '0')
  return { number: spaced(card.number), expiry: `12 / ${year}`, cvc: '123', name: 'Test Person' }
}

const inputs: readonly { field: Field; label: string; attributes: string }[] = [
  {
    field: 'number',
    label: 'Card number',
    attributes: 'inputmode="numeric" autocomplete="cc-number" maxlength="30"',
  },
  {
    field: 'expiry',
    label: 'Expires',
    attributes: 'autocomplete="cc-exp" placeholder="MM / YY" maxlength="9"',
  },
  { field: 'cvc', label: 'CVC', attributes: 'inputmode="numeric" autocomplete="cc-csc" maxlength="4"' },
  { field: 'name', label: 'Name on the card', attributes: 'autocomplete="cc-name" maxlength="255"' },
]

export function cardInputs(fields: CardFields, problems: CardProblems): Html {
  const [number, expiry, cvc, name] = inputs.map(({ field, label, attributes }) => {
    const problem = problems[field]
    return html`<div>
      <label for="${field}">${label}</label>
      <input
        id="${field}"
        name="${field}"
        value="${fields[field]}"
        required
        ${new Html(attributes)}
        ${problem === undefined ? '' : html`aria-invalid="true" aria-describedby="${field}-error"`}
      />${problem !== undefined && html`<p class="error" id="${field}-error">${problem}</p>`}
    </div>`
  })
  return html`${number}
    <div class="pair">${expiry}${cvc}</div>
    ${name}`
}

/** The test cards, each with a link that fills in the form. */
export function testCardList(path: string): Html {
  return html`<section aria-labelledby="test-cards">
    <h2 id="test-cards">Test cards</h2>
    <ul class="plain">
      ${testCards.map(
        ({ number, title }) =>
          html`<li>
            <span><code>${spaced(number)}</code><br /><span class="soft">${title}</span></span>
            <a
              href="${path}?card=${number.slice(-4)}"
              aria-label="Fill in the card that ends in ${number.slice(-4)}"
              >Fill in</a
            >
          </li>`,
      )}
    </ul>
  </section>`
}

/** Stands in for the verification page of the card's bank, and submits the answer to `path`. */
export function verificationPage(path: string, purpose: string, cardId: string): Html {
  return html`<section>
    <h1>Bank verification</h1>
    <p>Approve to ${purpose}. With a real card, your bank would ask you to confirm here.</p>
    <form method="post" action="${path}">
      <input type="hidden" name="card" value="${cardId}" />
      <div class="actions">
        <button name="answer" value="yes">Approve</button>
        <button class="quiet" name="answer" value="no">Decline</button>
      </div>
    </form>
  </section>`
}

function spaced(number: string): string {
  return number.replaceAll(/(.{4})(?=.)/g, '$1 ')
}
