/** The password field. */
export const passwords = {
  password: 'Password',
  newPassword: 'New password',
  passwordRule: 'At least 8 characters. A short phrase works well.',
  commonPassword:
    'This is one of the most common passwords, which attackers try first. Choose another, such as three random words.',
  showPassword: 'Show password',
  hidePassword: 'Hide password',
}
