import { z } from 'zod'
import { email, optionalFormText, text, timestamp, unicodeText } from '../../http/schemas.ts'
import { foldsIntoAscii } from './email-folding.ts'
import { passwordBytes } from './passwords.ts'

export const emailAddress = text({ min: 3, max: 320 })
  .refine(
    (value) => /^[^\s@<>]+@[^\s@<>]+$/.test(value) && !foldsIntoAscii(value),
    'Enter an email address, such as name@example.com.',
  )
  .meta({ description: 'An email address', format: 'email', examples: ['ada@example.com'] })

export const newPassword = unicodeText()
  .refine((value) => countBytes(value) >= passwordBytes.min, `Use at least ${passwordBytes.min} characters.`)
  .refine(
    (value) => countBytes(value) <= passwordBytes.max,
    `That password is too long. Use at most ${passwordBytes.max} bytes; accented letters and emoji take several bytes.`,
  )
  .meta({
    description:
      `A password of ${passwordBytes.min} to ${passwordBytes.max} bytes in UTF-8. An installation may reject the most common ones: a 422 ` +
      'whose field error has the code `common_password`.',
    format: 'password',
    minLength: passwordBytes.min,
    maxLength: passwordBytes.max,
    examples: ['correct horse battery'],
  })

/** A name, a country or a phone number of a new account */
export const optionalName = optionalFormText(255)

const changedName = text({ min: 1, max: 255 }).optional()

/** Forms send an empty text for a cleared field. */
const clearableName = text({ min: 0, max: 255 })
  .nullish()
  .transform((value) => (value === '' ? null : value))

export const updateProfileBody = z
  .object({
    name: changedName.describe('Your name'),
    first_name: clearableName.describe('Your first name; null or an empty text clears it'),
    last_name: clearableName.describe('Your last name; null or an empty text clears it'),
    country: clearableName.describe('Your country; null or an empty text clears it'),
    contact_number: clearableName.describe('Your phone number; null or an empty text clears it'),
    organization: changedName.describe(
      'New name of your organization. Only for SSO accounts that have not completed their profile',
    ),
    current_organization_id: z.int().optional().describe('Switches to another of your organizations'),
  })
  .meta({ id: 'ProfileUpdate', examples: [{ first_name: 'Ada', country: null }] })

export const profileBody = z
  .object({
    email: email.describe('Your email'),
    name: z.string().describe('Your name'),
    first_name: z.string().nullable().describe('Your first name'),
    last_name: z.string().nullable().describe('Your last name'),
    country: z.string().nullable().describe('Your country'),
    contact_number: z.string().nullable().describe('Your phone number'),
    has_password: z.boolean().describe('false if the account signs in only through SSO'),
    created_at: timestamp.describe('Creation of the account'),
  })
  .meta({ id: 'Profile', description: 'Your profile' })

function countBytes(value: string): number {
  return Buffer.byteLength(value, 'utf8')
}
