import { useRef, useState } from 'react'

/** Whether attackers try a password first. The list loads with the first long enough password. */
export function useCommonPassword() {
  const [isCommon, setIsCommon] = useState(false)
  const latest = useRef('')

  async function check(password: string): Promise<void> {
    latest.current = password
    if (password.length < 8) return setIsCommon(false)
    const { commonPasswords } = await import('virtual:common-passwords')
    // A later keystroke has its own check.
    if (latest.current === password) setIsCommon(commonPasswords.has(password.toLowerCase()))
  }

  return { isCommon, check }
}
