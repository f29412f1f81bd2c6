;; Reads the numbers of a JSON list, 16 bytes at a time. `number-scan.ts` calls it.
;; `npx -p wabt@1.0.39 wat2wasm number-scan.wat` writes `number-scan.wasm`.
(module
  (memory (export "memory") 1)
  ;; Reads from `$at` to the first quote, bracket or letter except `e` and `E`, or to `$end`. 16 spaces must
  ;; follow there. Writes where it stopped and the number of commas before that to the start of the memory.
  (func (export "scan") (param $at i32) (param $end i32)
    (local $bytes v128) (local $commas i32) (local $others i32) (local $count i32)
    (local $comma v128) (local $quote v128) (local $nine v128) (local $lowercase v128) (local $e v128)
    (local.set $comma (i8x16.splat (i32.const 0x2c)))
    (local.set $quote (i8x16.splat (i32.const 0x22)))
    (local.set $nine (i8x16.splat (i32.const 0x39)))
    (local.set $lowercase (i8x16.splat (i32.const 0x20)))
    (local.set $e (i8x16.splat (i32.const 0x65)))
    (block $found
      (loop $next
        (local.set $bytes (v128.load (local.get $at)))
        (local.set $commas (i8x16.bitmask (i8x16.eq (local.get $bytes) (local.get $comma))))
        (br_if $found
          (local.tee $others
            (i8x16.bitmask
              (v128.or
                (i8x16.eq (local.get $bytes) (local.get $quote))
                (v128.andnot
                  (i8x16.gt_s (local.get $bytes) (local.get $nine))
                  (i8x16.eq (v128.or (local.get $bytes) (local.get $lowercase)) (local.get $e)))))))
        (local.set $count (i32.add (local.get $count) (i32.popcnt (local.get $commas))))
        (local.set $at (i32.add (local.get $at) (i32.const 16)))
        (br_if $next (i32.lt_u (local.get $at) (local.get $end)))))
    (if (local.get $others)
      (then
        (local.set $at (i32.add (local.get $at) (i32.ctz (local.get $others))))
        ;; The commas before the lowest bit of the others
        (local.set $commas
          (i32.and
            (local.get $commas)
            (i32.and (i32.sub (local.get $others) (i32.const 1)) (i32.xor (local.get $others) (i32.const -1)))))
        (local.set $count (i32.add (local.get $count) (i32.popcnt (local.get $commas))))))
    (i32.store (i32.const 0) (local.get $at))
    (i32.store (i32.const 4) (local.get $count))))
