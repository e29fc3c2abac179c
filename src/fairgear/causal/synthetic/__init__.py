"""The synthetic causal model of the paper: it samples graphs and knows their counterfactuals.

S_i ~ Bernoulli(p),  Z_i ~ N(0, I),  X_i = Z_i[columns] + S_i v
A_ij = 1 where cos(Z_i, Z_j) + a·1[S_i = S_j] ≥ threshold
Y_i = 1 where w·Z_i + w_s · mean of S over i and its neighbours > the factual mean of that score

The label can also be one of several `classes`, of about the same size: how many of the factual
quantiles of that score it exceeds; or, with `number`, the score itself.

Three settings, 0 in the paper, make graphs whose neighbours matter:

noise   X_i sees U_i = Z_i[columns] + noise · E_i in place of Z_i[columns], with E_i ~ N(0, I) kept
shape   where S_i = 1, stretch · (U_i + skew · √(1 + U_i²)) in place of U_i, column by column
w_n     adds w_n · mean of w·Z over i and its neighbours to the score of Y_i

With `groups` m above 2, S_i is uniform on 0 to m − 1, X_i adds v_S with a direction v_s for each
group but the first, and the label takes S/(m − 1) where it takes S. With `second_groups` k above 1
there is a second attribute T, uniform on 0 to k − 1: X_i adds v_S + u_T, the label takes
S/(m − 1) + T/(k − 1), and edges a·(the share of the two attributes that agree). `graph.sens` is
S·k + T.

With `continuous`, S_i is a number, uniform on 0 to 1: edges take a·max(0, 1 − |S_i − S_j|) where
they take a·1[S_i = S_j], and features change their shape in proportion to S. Where S is 0 or 1,
these are the equations of two groups.

Two more give edges directions and weights; means over neighbours are then over those to whom i
points, by their weights (`closed_neighborhood_mean`):

directed  an arc from i to j is where cos(Z_i, Z_j) + a·1[S_i = S_j] + reach·tanh(w·Z_j / ‖w‖)
          ≥ threshold: people point to those who score high
weighted  an edge has the weight 2^(10·(the left side less the threshold)), in steps of 2⁻⁸
"""
