"""Random histories of the model's machines (Spec/model), played with real files and merged in all orders.

`FIRST=1000 COUNT=500 ./test tests.test_model` plays the histories of other seeds.
"""

import os
import unittest

from tests.replay import play
from vaultfmt_reference.verify import verify

FIRST, COUNT = int(os.environ.get("FIRST", "1")), int(os.environ.get("COUNT", "30"))


class Model(unittest.TestCase):
    def test_histories_end_as_the_model_says(self) -> None:
        checked = 0
        for seed in range(FIRST, FIRST + COUNT):
            with self.subTest(seed):
                files = play(seed, with_devices=seed % 4 == 0)
                checked += files.checked
                for _, data in list(files.known.values())[-2:]:
                    verify(files.reader(data))
        self.assertGreater(checked, 5 * COUNT)
