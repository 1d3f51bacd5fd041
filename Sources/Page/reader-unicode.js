// NFC of Unicode 13.0 (specification, section 3.1), for passphrases: browsers implement later versions.
'use strict';

/**
 * The code points that Unicode 13.0 does not assign, from Spec/unicode-13.txt: for each range, the distance from the
 * end of the previous one and, after a point, its length minus one, both in base 36.
 */
const UNASSIGNED = `
oo.1 7.3 8 2 l b2 13.1 1f.1 4 1k.7 s.3 7.a u 6p 1p.1 2u.d 1o.1 1e.1 g t.1 2 c.1g m j.a 4y 9.1 3.1 n 8
2.2 5.1 a.1 3.1 5.7 2.3 3 6.1 q.1 4 7.3 3.1 n 8 3 3 3.1 2 6.3 3.1 4.2 2.6 5 2.6 i.9 4 a 4 n 8 3 6.1 b 4
4.1 2.e 5.1 d.6 8 4 9.1 3.1 n 8 3 6.1 a.1 3.1 4.6 4.3 3 6.1 j.9 3 7.2 4 5.2 3 2 3.2 3.2 4.2 d.3 6.2 4
5.1 2.5 2.d m.4 e 4 o h.2 9 4 5.6 3 4.4 5.1 b.6 n 4 o b 6.1 a 4 5.6 3.6 2 5.1 b 3.c e 4 1g 4 7.3 h.1 r 4
j.2 p a 2.1 8.2 2.3 7 2 9.5 b.1 4.b 1n.3 u.10 3 2 6 p 2 o.1 6 2 7.1 b.1 5.v 21 11.3 14 11 g e.10 5j 2.4
2.1 ai 5.1 8 2 5.1 16 5.1 y 5.1 8 2 5.1 g 1m 5.1 1w.1 x.2 r.5 2f.1 7.1 im.2 2i.6 e 8.a o.8 l.b e 4 3.b
2n.1 b.5 b.5 g b.5 2i.6 18.4 1z.9 w d.3 d.3 2.2 17.1 6.a 19.3 r.5 c.2 1r.1 1u u.1 c.5 b.5 f.1 i.1q 25.3
1a.2 39.7 1p.2 g.2 1p.6 18.1 c.7 18.4 6z 7w.1 7.1 13.1 7.1 9 2 2 2 w.1 1i g f.1 7 k.1 4 a 2u d.1 s e.2
x.f y.e 3x.3 ig.o c.k 1ed.1 x 49 1c 45.4 1a 2.4 2.1 1l.6 3.d p.8 8 8 8 8 8 8 8 8 38.18 r 2i.b 5z.p d.3
1t 2f.1 2w.4 18 2n 2d.b 1c lpa.2 we.2 1k.8 9p.j 55.7 5d.1 a.15 1l.2 b.5 1l.7 1z.7 d.5 39.a v.2 27 c.3 y
1k.8 f.1 b.1 2w.n t.9 7.1 7.1 7.8 8 8 1p.3 3j.1 b.5 8md.b o.3 1e.3 6sv.1 2z.11 8.b 6.4 r 6 2 3 3 3h.g
a6.f 1t.1 1j.7 1b.1 r.5 1g k 5.3 6 3s.1 2 5b.2 7.1 7.1 7.1 4.2 8 8.9 k r k 3 g.1 f.x 3g.4 4.3 1a.2 2h
e.2 2.1a 1b.3l u.2 1e.e t.3 11.8 v.4 18.4 v 12.3 f.15 4f.1 b.5 11.3 11.3 15.7 1h.a 2.3z 8o.8 n.9 9.47
7.1 2 19 3.2 2.1 o 21.7 a.1b k 3.4 y.2 s.4 2.1r 1l.3 l.1 1f 3.4 9 4 u.1 4.3 b.6 a.6 1t.v 14.3 d.8 1j.2
u.1 s.4 r.6 5.b 8.27 22.1i 1g.c 1g.6 1b.7 b.85 w 17 4.1 3.25 15.7 17.2d t.j o.8 27.3 v.e 1w.a 2.1 q.6
b.5 1i j.7 14.8 2p l.a j 19.1s 8 2 5 g c.5 1o.4 b.5 5 9.1 3.1 n 8 3 6 b.1 3.1 4.1 2.5 2.4 8.1 8.2 6.3u
2l 6.t 21.7 b.4l 1j.1 13.x 1y.a b.5 e.i 1m.6 b.1h s.1 g.3 h.5b 1p.2r 2c.b 9.1 2.1 9 3 v 3.1 d.8 b.1x 9.1
1b.1 c.q 21.7 2c.s 1m.7a a 1a f.9 u.2 x.1 n f.20 8 3 19.2 2 3 a.7 b.5 7 3 12 3 7.6 b.8l q.52 2.e 1f.c
po.2t 34 6.a 5h.24b ts a.346 g8.6ns fu.6 w b.3 3.2n v.1 7.9 1z.9 b 8 m.4 k.j3 2k.2s 24.3 1m.6 i.1r 6.a
3.d 4qh.7 yf.15 a.6wm 80.1c 4.g 5.7 b1.1s3 30.4 e.2 a.6 b.1 9.3tn 6v.9 14.1 5d.m 1z.49 l.b 2g.8 q.3q 2e
20 3.1 2.1 3.1 5 d 2 8 1u 5.1 9 8 t 5 6 2.2 8 9h.1 85.1 jj.e 6 g.11r 8 i.1 8 3 6.5w 1a.2 f.1 b.3 3.a7
1n.4 2.zj 5i.1 h.14 25.3 b.3 3.ls 1x.23 1q.5d 5 s 3 2.1 2 b 5 2 2.5 2.3 2 2 2 4 3 2.1 2 2 2 2 2 3 2.1 5
8 5 5 2 b i.4 4 6 i.1f 3.7h 19.3 2t.b g.1 g g 12.9 4v.1j u.c 19.3 a.6 3.d 7.49 rd.7 e.2 e.2 39.b 2i.6
d.j d.3 1l.7 b.5 15.7 v.1 3.25 3e 2b 3s.b f.1 6.2 4.4 8.8 q.6 8.8 4.c 8.14 44 1k.10 b.sj wyp.x 37a.a
67.1 4g3.d 5rm.2e6 f3.15r 3ta.1ar6 3.1ekd 3.1ekd 3.1ekd 3.1ekd 3.1ekd 3.1ekd 3.1ekd 3.1ekd 3.1ekd 3.1ekd
3 2.t 2p.3j 6p.1e6l
`;

/** Returns a function that tells whether Unicode 13.0 does not assign a code point. */
function unassignedByUnicode13() {
    const starts = [];
    const ends = [];
    let last = 0;
    for (const range of UNASSIGNED.trim().split(/\s/)) {
        const [distance, length] = range.split('.');
        starts.push(last + parseInt(distance, 36));
        last = starts.at(-1) + (length === undefined ? 0 : parseInt(length, 36));
        ends.push(last);
    }
    return (point) => {
        let low = 0;
        let high = ends.length;
        while (low < high) {
            const middle = (low + high) >> 1;
            if (ends[middle] < point) low = middle + 1;
            else high = middle;
        }
        return low < starts.length && starts[low] <= point;
    };
}

/**
 * Normalises text between the code points that Unicode 13.0 does not assign. Later versions normalise all assigned
 * code points identically; an engine older than 13.0 would not.
 */
function normalised(text) {
    if (/^[\0-\x7f]*$/.test(text)) return text;
    if ('\u{11935}\u{11930}'.normalize('NFC') !== '\u{11938}') {
        const message = 'This browser is too old for a passphrase with characters beyond ASCII.';
        throw new ReaderError('invalid-argument', message);
    }
    const isUnassigned = unassignedByUnicode13();
    let out = '';
    let piece = '';
    for (const character of text) {
        if (isUnassigned(character.codePointAt(0))) {
            out += piece.normalize('NFC') + character;
            piece = '';
        } else {
            piece += character;
        }
    }
    return out + piece.normalize('NFC');
}
