import { Check, Copy } from 'lucide-react'
import { useEffect, useState } from 'react'
import { text } from '../text/index.ts'
import { Button } from './button.tsx'
import { copyText } from './copy-text.ts'
import { useToasts } from './toast.tsx'

/** Copies `value` to the clipboard and shows a check mark for a moment. */
export function CopyButton({ value, label }: { value: string; label: string }) {
  const [copied, setCopied] = useState(false)
  const toasts = useToasts()
  useEffect(() => {
    if (!copied) return
    const timer = setTimeout(() => setCopied(false), 1_500)
    return () => clearTimeout(timer)
  }, [copied])
  const copy = async () => {
    try {
      await copyText(value)
      setCopied(true)
    } catch (error) {
      toasts.error(error)
    }
  }
  return (
    <Button
      variant="quiet"
      size="tiny"
      aria-label={copied ? text.common.copied : label}
      onClick={() => void copy()}
    >
      {copied ? <Check /> : <Copy />}
    </Button>
  )
}
