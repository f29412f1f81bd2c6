import { z } from 'zod'
import { exampleToken, optionalField, text, unicodeText } from '../../http/schemas.ts'
import { emailAddress, newPassword, optionalName } from '../accounts/schemas.ts'
import { factorCode, passkeySignature } from '../second-factors/schemas.ts'

export const registerBody = z
  .object({
    email: emailAddress,
    password: newPassword,
    organization: text({ min: 1, max: 255 }).meta({
      description: 'Name of your new organization',
      examples: ['Analytical Engines'],
    }),
    name: optionalName.describe('Your name; otherwise made of the first and last name or the email'),
    first_name: optionalName.describe('Your first name'),
    last_name: optionalName.describe('Your last name'),
    country: optionalName.describe('Your country'),
    contact_number: optionalName.describe('Your phone number'),
  })
  .meta({
    id: 'Registration',
    examples: [
      { email: 'ada@example.com', password: 'correct horse battery', organization: 'Analytical Engines' },
    ],
  })

export const signInBody = z
  .object({
    email: unicodeText().trim().describe('The account’s email'),
    password: unicodeText().describe('The account’s password'),
    code: optionalField(factorCode).describe(
      'After a 401 `second_factor_required`: a code of the authenticator app, or a recovery code',
    ),
    passkey: optionalField(passkeySignature).describe('Instead of the code: the signature of a passkey'),
  })
  .meta({ id: 'Credentials', examples: [{ email: 'ada@example.com', password: 'correct horse battery' }] })

export const passwordResetRequestBody = z
  .object({ email: text({ min: 0, max: 320 }).describe('The account’s email') })
  .meta({ id: 'PasswordResetRequest', examples: [{ email: 'ada@example.com' }] })

export const acceptedBody = z
  .object({ accepted: z.literal(true).describe('Always true') })
  .meta({ id: 'Accepted', description: 'The request is accepted' })

export const passwordResetBody = z
  .object({
    token: unicodeText().describe('The `token` parameter of the emailed link'),
    password: newPassword,
  })
  .meta({
    id: 'PasswordReset',
    examples: [{ token: exampleToken, password: 'correct horse battery' }],
  })

export const emailVerificationBody = z
  .object({ token: unicodeText().describe('The `token` parameter of the emailed link') })
  .meta({ id: 'EmailVerification', examples: [{ token: exampleToken }] })

export const verifiedBody = z
  .object({ verified: z.literal(true).describe('Always true') })
  .meta({ id: 'EmailVerified', description: 'The email is verified' })

export const resetBody = z
  .object({ reset: z.literal(true).describe('Always true') })
  .meta({ id: 'PasswordResetDone', description: 'The password is changed' })

export const passwordChangeBody = z
  .object({
    current_password: unicodeText().describe('Your password until now'),
    new_password: newPassword,
  })
  .meta({
    id: 'PasswordChange',
    examples: [{ current_password: 'correct horse battery', new_password: 'three random words' }],
  })
